// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.loop

import zonemap.ingest.commit.IngestSettings

/**
 * How long a loop rests after a pass: until the interval after a commit is over, and long enough for the duty cycle.
 * The duty cycle counts the time of commits, and not that of reading or clearing the queue.
 *
 * Not thread-safe.
 */
private[ingest] final class CommitPace(settings: IngestSettings) {
  private var duty = 0L
  private var interval = 0L

  /** @param commitMillis the part of `millis` that commits took; `None` if the pass made none */
  def worked(millis: Long, commitMillis: Option[Long]): Unit = {
    duty = math.ceil(commitMillis.getOrElse(0L) * (1 / settings.maxDutyCycle - 1)).toLong
    interval = if (commitMillis.isDefined) settings.intervalMillis - millis else 0L
  }

  def restMillis: Long = math.max(duty, interval)

  /** The rest if so many records have arrived since the commit. Writers wait when the queue is twice as long. */
  def restMillis(arrived: Int): Long =
    if (arrived >= math.max(1L, settings.softLimitRecords / 2)) duty else restMillis
}
