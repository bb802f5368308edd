package zonemap.iceberg.upkeep

import java.lang.management.ManagementFactory

/**
 * When the commits to one table may be followed again, so that following takes no more than a share of one core.
 *
 * What one turn took decides the pause after it, [[Pace.MaxPauseMillis]] at most: commits that are far apart are followed
 * at once, those of a writer that commits as fast as it can several at a time. Used by one thread.
 */
private[upkeep] final class Pace {
  private var pauseUntilNanos = Option.empty[Long]

  /** Milliseconds until the next turn; 0: now. */
  def millisLeft: Long = pauseUntilNanos.fold(0L)(until => math.max(0L, (until - System.nanoTime()) / 1000000))

  /** Does `work` and counts what it takes. */
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

  /** The pause after a turn of so many milliseconds of CPU. */
  def pauseMillis(cpuMillis: Double, maxShare: Double): Long =
    math.min(MaxPauseMillis.toDouble, cpuMillis / maxShare).toLong

  private def threadCpuNanos: Long =
    if (threads.isCurrentThreadCpuTimeSupported) threads.getCurrentThreadCpuTime else System.nanoTime()
}
