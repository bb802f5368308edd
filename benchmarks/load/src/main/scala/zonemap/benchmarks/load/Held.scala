// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.load

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Paths}

import scala.util.Using

/** The heap after a garbage collection, the threads and the open files of this process. */
final case class Held(heapMb: Double, threads: Int, handles: Long) {
  def figures: Map[String, Any] = Map("heapMb" -> heapMb, "threads" -> threads, "handles" -> handles)
}

object Held {

  /**
   * What is held once idle threads have had time to end, and Spark's cleaner to remove the broadcasts of queries that a
   * first garbage collection has found.
   */
  def afterRest(seconds: Int): Held = {
    collectGarbage()
    Thread.sleep(seconds * 1000L)
    collectGarbage()
    val runtime = Runtime.getRuntime
    Held(
      (runtime.totalMemory() - runtime.freeMemory()) / 1e6,
      ManagementFactory.getThreadMXBean.getThreadCount,
      Using.resource(Files.list(Paths.get("/proc/self/fd")))(_.count())
    )
  }

  private def collectGarbage(): Unit = (0 until 3).foreach { _ => System.gc(); Thread.sleep(500) }
}
