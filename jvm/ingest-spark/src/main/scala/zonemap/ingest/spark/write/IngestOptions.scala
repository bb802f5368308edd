// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.write

import java.util.Locale

import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.ingest.record.{IngestRecord, LaneName}

/**
 * The place of a batch in its lane.
 *
 * @param lane the identity of the producer
 * @param seq the number of the append in its lane; a second append with the same number is dropped
 */
private[ingest] final case class LanePlace(lane: String, seq: Long)

/** The write options of the sink, beside the options of Iceberg's sink. */
private[ingest] object IngestOptions {

  /** The name of the format, and of the write option that sends a write by table name to the queue. */
  val Format = "zonemap-ingest"

  /** The identity of a producer that may repeat an append, such as the name of a nightly job. */
  val Lane = "zonemap-ingest.lane"

  /** The number of the append in its lane. */
  val Seq = "zonemap-ingest.seq"

  private val SnapshotProperty = "snapshot-property."

  /** Whether the options of a write by table name send it to the queue. */
  def isChosen(options: Map[String, String]): Boolean =
    options.collectFirst { case (key, value) if key.equalsIgnoreCase(Format) => value } match {
      case None => false
      case Some(value) =>
        value.trim
          .toLowerCase(Locale.ROOT)
          .toBooleanOption
          .getOrElse(
            throw new IllegalArgumentException(s"Cannot use option '$Format'='$value': allowed are true, false."))
    }

  /**
   * The lane and number that a batch names; `None` if it names none.
   *
   * @throws IllegalArgumentException if one of them is missing, the lane is empty or too long, or the number is not a
   *   whole number of 0 or more
   */
  def place(options: CaseInsensitiveStringMap): Option[LanePlace] =
    (Option(options.get(Lane)), Option(options.get(Seq))) match {
      case (None, None) => None
      case (Some(lane), Some(text)) =>
        val seq = text.trim.toLongOption.filter(_ > IngestRecord.NoSeq).getOrElse {
          throw new IllegalArgumentException(
            s"Cannot use option '$Seq'='$text': it is not a whole number of 0 or more. Give a number that grows with " +
              "each append of the lane.")
        }
        LaneName.encode(lane): Unit
        Some(LanePlace(lane, seq))
      case (Some(lane), None) =>
        throw new IllegalArgumentException(
          s"Cannot append to the lane '$lane': the append has no number. Set option '$Seq' to a number that grows with " +
            "each append of the lane.")
      case (None, Some(seq)) =>
        throw new IllegalArgumentException(
          s"Cannot append with option '$Seq'='$seq': the append has no lane. Set option '$Lane' to the name of the " +
            "producer.")
    }

  /**
   * @throws IllegalArgumentException if an option of Iceberg's sink cannot take effect, because another process commits
   */
  def refuseSnapshotProperties(table: String, options: CaseInsensitiveStringMap): Unit =
    options.keySet().stream().filter(_.startsWith(SnapshotProperty)).findFirst().ifPresent { key =>
      throw new IllegalArgumentException(
        s"Cannot write to '$table' with option '$key': the committer puts many appends into one snapshot. Remove the " +
          "option.")
    }
}
