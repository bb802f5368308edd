// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.write

import zonemap.ingest.commit.IngestSettings
import zonemap.ingest.queue.CommitQueue

/** The queue holds so many records that a writer must stop; the message names the figures and the key. */
private[zonemap] final class BackPressureException(message: String) extends RuntimeException(message)

/**
 * Lets one writer wait or fail while the committer falls behind. Of the records of another lane, a writer counts a
 * quarter of the limit at most, so that a single lane that is stuck does not stop the writers of the others.
 *
 * To count the queue costs a listing. While there is room, one count serves the appends of half a second, and fewer if
 * the writer itself fills an eighth of the room. Not thread-safe.
 *
 * @param table the table's name, for people
 */
private[write] final class BackPressure(table: String, lane: String, queue: CommitQueue, settings: IngestSettings) {
  import BackPressure._

  private var counts = Map.empty[String, Long]
  private var countedAt = Option.empty[Long]
  private var appended = 0L

  /**
   * Waits while the queue is at its soft limit, at most as long as the settings allow.
   *
   * @throws BackPressureException if the queue is at its hard limit
   */
  def await(): Unit = {
    if (!isKnown) count()
    val started = System.nanoTime()
    def left = settings.softWaitMillis - (System.nanoTime() - started) / 1000000
    while (counted(settings.softLimitRecords) >= settings.softLimitRecords && left > 0) {
      Thread.sleep(math.min(StepMillis, left))
      count()
    }
  }

  /** Counts a record that the writer has appended. */
  def added(): Unit = appended += 1

  private def isKnown: Boolean = {
    val room = settings.softLimitRecords - counted(settings.softLimitRecords)
    countedAt.exists(System.nanoTime() - _ < CountedNanos) && appended * RoomShare < room
  }

  private def count(): Unit = {
    counts = queue.countByLane()
    countedAt = Some(System.nanoTime())
    appended = 0
    if (counted(settings.hardLimitRecords) >= settings.hardLimitRecords) refuse()
  }

  /** The records that count against a limit for a writer of the lane. */
  private def counted(limit: Long): Long = {
    val share = math.max(1L, limit / LanesToFill)
    counts.iterator.map { case (other, records) => if (other == lane) records else math.min(records, share) }.sum
  }

  private def refuse(): Nothing = {
    val stats = queue.stats()
    val age =
      stats.oldestMillis.fold("")(at => s", the oldest of them ${(System.currentTimeMillis() - at) / 1000} s old")
    throw new BackPressureException(
      s"Cannot append to '$table': ${stats.records} records (${stats.bytes} bytes) are pending$age, and " +
        s"ingest.hardLimitRecords=${settings.hardLimitRecords}. Start a committer, see ingest_status for its " +
        "problem, or raise the limit.")
  }
}

private object BackPressure {
  private val StepMillis = 200L
  private val CountedNanos = 500L * 1000 * 1000

  /** The queue is counted again when the writer itself may have filled this part of the room. */
  private val RoomShare = 8

  /** The lanes that fill the queue for a writer of another lane, if none of them goes on. */
  private val LanesToFill = 4
}
