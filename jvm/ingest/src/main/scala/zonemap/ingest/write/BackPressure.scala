package zonemap.ingest.write

import zonemap.ingest.commit.IngestSettings
import zonemap.ingest.queue.CommitQueue

/** The queue holds so many records that a writer must stop; the message names the figures and the key. */
private[zonemap] final class BackPressureException(message: String) extends RuntimeException(message)

/** Lets writers wait or fail while the committer falls behind. */
private[zonemap] object BackPressure {
  private val StepMillis = 200L

  /**
   * Waits while the queue is at its soft limit, at most as long as the settings allow.
   *
   * @return the milliseconds waited
   * @throws BackPressureException if the queue is at its hard limit
   */
  def await(name: String, queue: CommitQueue, settings: IngestSettings): Long = {
    val started = System.nanoTime()
    def waited = (System.nanoTime() - started) / 1000000
    var stats = checked(name, queue, settings)
    while (stats >= settings.softLimitRecords && waited < settings.softWaitMillis) {
      Thread.sleep(math.min(StepMillis, math.max(1, settings.softWaitMillis - waited)))
      stats = checked(name, queue, settings)
    }
    waited
  }

  private def checked(name: String, queue: CommitQueue, settings: IngestSettings): Long = {
    val stats = queue.stats()
    if (stats.records >= settings.hardLimitRecords) {
      val age =
        stats.oldestMillis.fold("")(at => s", the oldest of them ${(System.currentTimeMillis() - at) / 1000} s old")
      throw new BackPressureException(
        s"Cannot append to '$name': ${stats.records} records (${stats.bytes} bytes) are pending$age, and " +
          s"ingest.hard-limit-records=${settings.hardLimitRecords}. Start a committer, see ingest_status for its " +
          "problem, or raise the limit.")
    }
    stats.records
  }
}
