// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.lang.management.{ManagementFactory, MemoryType}

import scala.jdk.CollectionConverters._

import com.sun.management.{OperatingSystemMXBean, ThreadMXBean}

/**
 * The measurements of one run.
 *
 * @param wallMillis wall time
 * @param cpuMillis CPU time of the whole process, collector and compiler threads included
 * @param allocatedBytes bytes allocated by threads that are alive at the end
 */
final case class Run(wallMillis: Double, cpuMillis: Double, allocatedBytes: Long)

object Measure {
  private val os = ManagementFactory.getPlatformMXBean(classOf[OperatingSystemMXBean])
  private val threads = ManagementFactory.getPlatformMXBean(classOf[ThreadMXBean])

  def run[A](work: => A): (A, Run) = {
    val allocated = allocatedNow()
    val cpu = os.getProcessCpuTime
    val wall = System.nanoTime()
    val result = work
    val run = Run((System.nanoTime() - wall) / 1e6, (os.getProcessCpuTime - cpu) / 1e6, allocatedNow() - allocated)
    (result, run)
  }

  /** The peak of heap use during `work`, less the heap use before it; the peak includes garbage not yet collected. */
  def peakHeap(work: => Any): Long = {
    System.gc()
    val pools = ManagementFactory.getMemoryPoolMXBeans.asScala.filter(_.getType == MemoryType.HEAP)
    pools.foreach(_.resetPeakUsage())
    val before = pools.map(_.getUsage.getUsed).sum
    val _ = work
    math.max(0, pools.map(_.getPeakUsage.getUsed).sum - before)
  }

  def median(values: Seq[Double]): Double = {
    val sorted = values.sorted
    val middle = sorted.size / 2
    if (sorted.size % 2 == 1) sorted(middle) else (sorted(middle - 1) + sorted(middle)) / 2
  }

  private def allocatedNow(): Long =
    threads.getThreadAllocatedBytes(threads.getAllThreadIds).iterator.filter(_ > 0).sum
}
