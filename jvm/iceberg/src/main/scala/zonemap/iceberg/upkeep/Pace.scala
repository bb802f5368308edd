// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

import java.lang.management.ManagementFactory

/**
 * Decides when the commits to one table may be indexed again, so that indexing uses at most a given share of one core.
 *
 * The CPU time of one turn decides the length of the pause after it, [[Pace.MaxPauseMillis]] at most. Commits that are
 * far apart are therefore indexed at once, and the commits of a writer that commits continuously are indexed several at
 * a time. Used by one thread.
 */
private[upkeep] final class Pace {
  private var pauseUntilNanos = Option.empty[Long]

  /** Milliseconds until the next turn; 0 if it may start now. */
  def millisLeft: Long = pauseUntilNanos.fold(0L)(until => math.max(0L, (until - System.nanoTime()) / 1000000))

  /** Runs `work` and starts a pause according to its CPU time. */
  def count(maxShare: Double)(work: => Unit): Unit = {
    val before = Pace.threadCpuNanos
    try work
    finally {
      val pause = Pace.pauseMillis((Pace.threadCpuNanos - before) / 1e6, maxShare)
      pauseUntilNanos = Some(System.nanoTime() + pause * 1000000)
    }
  }
}

private[upkeep] object Pace {
  val MaxPauseMillis = 60000L

  private val threads = ManagementFactory.getThreadMXBean

  /** The pause after a turn that used `cpuMillis` of CPU time. */
  def pauseMillis(cpuMillis: Double, maxShare: Double): Long =
    math.min(MaxPauseMillis.toDouble, cpuMillis / maxShare).toLong

  /** The CPU time of this thread; the wall clock where a JVM does not measure it. */
  def threadCpuNanos: Long =
    if (threads.isCurrentThreadCpuTimeSupported) threads.getCurrentThreadCpuTime else System.nanoTime()
}
