// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

import scala.collection.mutable

/**
 * A number of messages of other applications in a partition.
 *
 * @param first the offset of the first one
 * @param last the offset of the last one
 * @param sinceMillis the time of the first one
 */
private[kafka] final case class ForeignReport(first: Long, last: Long, count: Long, sinceMillis: Long) {

  /** @param place the partition and its topic */
  def text(place: String): String = {
    val cause = "no lane, seq and nonce; another application writes to the topic"
    if (count == 1) s"offset $last of $place has $cause"
    else s"$count messages of $place, offsets $first to $last, have $cause. The bytes are those of the last message"
  }
}

/**
 * The messages of other applications in one partition, as a few reports. The messages of one reading are one report, so
 * that a report that a poll has delivered does not change. From [[ForeignMessages.MostReports]] on, the newest report
 * takes all further messages; the older ones do not change. Not thread-safe.
 */
private[kafka] final class ForeignMessages {
  import ForeignMessages._

  /** By the last offset. */
  private val reports = mutable.TreeMap.empty[Long, ForeignReport]
  private var takesMore = false

  /** Begins a reading. Forgets the reports whose last offset is pending no more. */
  def retain(isPending: Long => Boolean): Unit = {
    reports.filterInPlace((offset, _) => isPending(offset))
    takesMore = false
  }

  /** The report with this message, and the last offset that the report had before; `None` if it is a new report. */
  def add(offset: Long, atMillis: Long): (ForeignReport, Option[Long]) = {
    val before = if (takesMore || reports.size >= MostReports) reports.lastOption.map(_._2) else None
    val after = before.fold(ForeignReport(offset, offset, 1, atMillis))(r => r.copy(last = offset, count = r.count + 1))
    before.foreach(report => reports.remove(report.last))
    reports.put(offset, after)
    takesMore = true
    (after, before.map(_.last))
  }
}

private[kafka] object ForeignMessages {
  val MostReports = 16
}
