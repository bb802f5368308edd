// SPDX-License-Identifier: Apache-2.0
package zonemap.core.io

/**
 * The most recently added values, at most `most` of them, so that an action done once for each value needs bounded
 * memory. A value that newer values have displaced counts as new again. Thread-safe.
 */
private[zonemap] final class RecentlySeen[A](most: Int) {
  private val values = new LruBytes[A, java.lang.Boolean](_ => 1)

  /** Adds a value; returns whether it was not among the recent values. */
  def add(value: A): Boolean = synchronized {
    val isNew = values.get(value).isEmpty
    if (isNew) {
      values.put(value, true)
      values.shrinkTo(most)
    }
    isNew
  }

  def size: Int = synchronized(values.size)
}
