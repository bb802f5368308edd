package zonemap.ingest.write

import zonemap.ingest.commit.IngestSettings
import zonemap.ingest.queue.{CommitQueue, QueueStats}

/** The queue holds so many records that a writer must stop; the message names the figures and the key. */
private[zonemap] final class BackPressureException(message: String) extends RuntimeException(message)

/**
 * Lets writers wait or fail while the committer falls behind. Of the records of another lane, a writer counts a quarter
 * of the limit at most, so that a single lane that is stuck does not stop the writers of the others.
 */
private[zonemap] object BackPressure {
  private val StepMillis = 200L

  /** The lanes that fill the queue for a writer of another lane, if none of them goes on. */
  private val LanesToFill = 4

  /**
   * Waits while the queue is at its soft limit, at most as long as the settings allow.
   *
   * @param name the table's name, for people
   * @return the milliseconds waited
   * @throws BackPressureException if the queue is at its hard limit
   */
  def await(name: String, lane: String, queue: CommitQueue, settings: IngestSettings): Long = {
    val started = System.nanoTime()
    def waited = (System.nanoTime() - started) / 1000000
    var stats = checked(name, lane, queue, settings)
    while (counted(
        stats,
        lane,
        settings.softLimitRecords) >= settings.softLimitRecords && waited < settings.softWaitMillis) {
      Thread.sleep(math.min(StepMillis, math.max(1, settings.softWaitMillis - waited)))
      stats = checked(name, lane, queue, settings)
    }
    waited
  }

  /** The records that count against a limit for a writer of the lane. */
  private def counted(stats: QueueStats, lane: String, limit: Long): Long =
    if (stats.byLane.isEmpty) stats.records
    else {
      val share = math.max(1L, limit / LanesToFill)
      stats.byLane.iterator.map { case (other, records) =>
        if (other == lane) records else math.min(records, share)
      }.sum
    }

  private def checked(name: String, lane: String, queue: CommitQueue, settings: IngestSettings): QueueStats = {
    val stats = queue.stats()
    if (counted(stats, lane, settings.hardLimitRecords) >= settings.hardLimitRecords) {
      val age =
        stats.oldestMillis.fold("")(at => s", the oldest of them ${(System.currentTimeMillis() - at) / 1000} s old")
      throw new BackPressureException(
        s"Cannot append to '$name': ${stats.records} records (${stats.bytes} bytes) are pending$age, and " +
          s"ingest.hard-limit-records=${settings.hardLimitRecords}. Start a committer, see ingest_status for its " +
          "problem, or raise the limit.")
    }
    stats
  }
}
