// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.history

import java.util.ArrayDeque

import scala.jdk.CollectionConverters._

/** The newest values that were added, at most `capacity`. Thread-safe. */
private[zonemap] final class RingBuffer[A](capacity: Int) {
  private val values = new ArrayDeque[A]

  def add(value: A): Unit = values.synchronized {
    if (values.size == capacity) values.removeFirst(): Unit
    values.addLast(value)
  }

  /** The newest first. */
  def newest: Seq[A] = values.synchronized(values.descendingIterator().asScala.toVector)
}
