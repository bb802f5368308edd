// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.loop

import scala.util.control.NonFatal

import zonemap.ingest.commit.{Elapsed, PassOutcome, PassResult, Quarantine}
import zonemap.ingest.queue.QueueStats
import zonemap.ingest.table.IngestTarget

/**
 * The figures of one table in a loop, as the last pass found them.
 *
 * @param pending records that wait in the queue
 * @param oldestPendingMillis when the oldest of them was appended
 * @param quarantined records in quarantine, counted after a refusal and once a minute
 * @param commits commits that landed since the loop was started
 * @param attempts commits that were sent for them
 */
private[zonemap] final case class LoopFigures(
    pending: Long = 0,
    oldestPendingMillis: Option[Long] = None,
    quarantined: Long = 0,
    commits: Long = 0,
    attempts: Long = 0)

/** Takes the figures of one table after each pass. Not thread-safe. */
private[ingest] final class LoopMeter {
  import LoopMeter._

  private var figures = LoopFigures()
  private var countedAtMillis = Option.empty[Long]

  /** @param stats what the queue holds; `None` if it is empty */
  def measure(
      results: Seq[PassResult],
      stats: Option[QueueStats],
      target: IngestTarget,
      nowMillis: Long): LoopFigures = {
    val commits = results.map(_.outcome).collect { case commit: PassOutcome.Committed => commit }
    figures = LoopFigures(
      stats.fold(0L)(_.records),
      stats.flatMap(_.oldestMillis),
      quarantined(results, target, nowMillis),
      figures.commits + commits.size,
      figures.attempts + commits.map(_.attempts.toLong).sum
    )
    figures
  }

  private def quarantined(results: Seq[PassResult], target: IngestTarget, nowMillis: Long): Long =
    if (results.exists(_.refused.nonEmpty) || countedAtMillis.forall(Elapsed.isAtLeast(CountMillis, _, nowMillis))) {
      countedAtMillis = Some(nowMillis)
      // The commits of the pass have landed. A quarantine that cannot be listed now is counted a minute later.
      try new Quarantine(target.files).names().size.toLong
      catch { case NonFatal(_) => figures.quarantined }
    } else figures.quarantined
}

private object LoopMeter {
  private val CountMillis = 60000L
}
