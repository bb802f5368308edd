// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.load

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

/** Durations in milliseconds, from many threads. */
final class Samples {
  private val all = new ConcurrentLinkedQueue[Double]

  /** Runs `work` and adds its duration. */
  def timed[A](work: => A): A = {
    val started = System.nanoTime()
    val result = work
    all.add((System.nanoTime() - started) / 1e6)
    result
  }

  def figures: Map[String, Any] = {
    val sorted = all.asScala.toArray.sorted
    def at(share: Double) =
      if (sorted.isEmpty) 0.0 else sorted(math.min(sorted.length - 1, (sorted.length * share).toInt))
    Map("count" -> sorted.length, "millisP50" -> at(0.5), "millisP99" -> at(0.99))
  }
}
