package zonemap.ingest.commit

import zonemap.iceberg.report.Survivable
import zonemap.ingest.queue.{CommitQueue, PollLimits}

/**
 * The wait between two commits of a loop, in which the queue is read ahead: the next pass then reads only what arrives
 * at the end of the wait, and the wait ends early if the queue fills. Not thread-safe.
 */
private[commit] final class CommitRest(settings: IngestSettings, pace: CommitPace, isStopped: () => Boolean) {
  import CommitRest._

  /**
   * Waits as long as the pace demands, without attention to the doorbell; a stop ends the wait.
   *
   * @param leftOver the records that the last pass left in the queue, which make no commit urgent
   */
  def rest(queue: Option[CommitQueue], leftOver: Int): Unit = {
    val started = System.nanoTime()
    def left(arrived: Int): Long = pace.restMillis(arrived) - millisSince(started)
    var arrived = 0
    var longest = LeastMillis
    while (!isStopped() && queue.isDefined && left(arrived) > 2 * longest) {
      waitFor(math.min(settings.pollMillis, left(arrived) / 2))
      val looked = System.nanoTime()
      if (!isStopped()) arrived = queue.flatMap(readAhead).getOrElse(0) - leftOver
      longest = math.max(longest, millisSince(looked))
    }
    waitFor(left(arrived))
  }

  /** The pending records. A queue that cannot be read fails the next pass, which reports it, as does short memory. */
  private def readAhead(queue: CommitQueue): Option[Int] =
    try queue.readAhead(PollLimits(settings.maxRecordsPerCommit, settings.maxBytesPerCommit))
    catch { case Survivable(_) => None }

  private def waitFor(millis: Long): Unit = {
    val end = System.nanoTime() + millis * 1000000
    while (!isStopped() && System.nanoTime() < end)
      Thread.sleep(math.max(1, math.min(StopMillis, (end - System.nanoTime()) / 1000000)))
  }
}

private object CommitRest {

  /** The queue is not read ahead for a rest of less than twice this time. */
  private val LeastMillis = 50L
  private val StopMillis = 100L

  private def millisSince(nanos: Long): Long = (System.nanoTime() - nanos) / 1000000
}
