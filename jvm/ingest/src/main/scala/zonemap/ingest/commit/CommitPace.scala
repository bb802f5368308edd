package zonemap.ingest.commit

/**
 * How long a loop rests after a pass: until the interval after a commit is over, and long enough for the duty cycle.
 *
 * Not thread-safe.
 */
private[commit] final class CommitPace(settings: IngestSettings) {
  private var rest = 0L

  def worked(millis: Long, committed: Boolean): Unit = {
    val share = math.ceil(millis * (1 / settings.maxDutyCycle - 1)).toLong
    rest = math.max(share, if (committed) settings.intervalMillis - millis else 0L)
  }

  def restMillis: Long = rest
}
