package zonemap.ingest.commit

/**
 * How long a loop rests after a pass: until the interval after a commit is over, and long enough for the duty cycle.
 * The duty cycle counts the time of commits, and not that of reading the queue.
 *
 * Not thread-safe.
 */
private[commit] final class CommitPace(settings: IngestSettings) {
  private var rest = 0L

  /** @param commitMillis the part of `millis` that commits took; `None` if the pass made none */
  def worked(millis: Long, commitMillis: Option[Long]): Unit = {
    val share = math.ceil(commitMillis.getOrElse(0L) * (1 / settings.maxDutyCycle - 1)).toLong
    rest = math.max(share, if (commitMillis.isDefined) settings.intervalMillis - millis else 0L)
  }

  def restMillis: Long = rest
}
