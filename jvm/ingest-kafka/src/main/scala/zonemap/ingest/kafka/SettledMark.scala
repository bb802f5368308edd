// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode
import org.apache.iceberg.util.JsonUtil

import zonemap.ingest.record.Framed

/**
 * A statement on one partition that stays true: each offset below `upTo` that is not in `pending` is settled.
 *
 * @param queueId the incarnation of the topic
 * @param pending offsets below `upTo`
 */
private[kafka] final case class SettledMark(queueId: String, partition: Int, upTo: Long, pending: OffsetRanges) {

  def covers(offset: Long): Boolean = offset < upTo && !pending.contains(offset)

  /** Whether this mark states all that the other one states. */
  def supersedes(other: SettledMark): Boolean = other.partition == partition && other.upTo <= upTo && {
    val doubtful = pending.within(0, other.upTo)
    doubtful.intersect(other.pending) == doubtful
  }
}

private[kafka] object SettledMark {
  private val Format = 2

  /** A mark of this format lists each pending offset. */
  private val OffsetsFormat = 1

  def encode(mark: SettledMark): Array[Byte] =
    Framed.encode(
      JsonUtil.generate(
        json => {
          json.writeStartObject()
          json.writeNumberField("format", Format)
          json.writeStringField("queue-id", mark.queueId)
          json.writeNumberField("partition", mark.partition)
          json.writeNumberField("up-to", mark.upTo)
          json.writeArrayFieldStart("pending")
          mark.pending.ranges.foreach { case (from, until) =>
            json.writeNumber(from)
            json.writeNumber(until)
          }
          json.writeEndArray()
          json.writeEndObject()
        },
        false
      ))

  /** The mark; `None` if the bytes are none, because their writer died within the write. */
  def decode(bytes: Array[Byte]): Option[SettledMark] = Framed.decode(bytes).toOption.flatMap { body =>
    try Some(JsonUtil.parse(body, (node: JsonNode) => parse(node)))
    catch { case NonFatal(_) => None }
  }

  private def parse(node: JsonNode): SettledMark = {
    val numbers = JsonUtil.getLongList("pending", node).asScala.map(_.longValue()).toVector
    val pending = JsonUtil.getInt("format", node) match {
      case Format        => OffsetRanges(numbers.grouped(2).map(ends => (ends.head, ends.last)).toVector)
      case OffsetsFormat => OffsetRanges.of(numbers.iterator)
      case other         => throw new IllegalArgumentException(s"its format is $other")
    }
    SettledMark(
      JsonUtil.getString("queue-id", node),
      JsonUtil.getInt("partition", node),
      JsonUtil.getLong("up-to", node),
      pending)
  }
}

/** What several marks of one partition state together. */
private[kafka] final case class SettledOffsets(marks: Seq[SettledMark]) {
  private val furthest = marks.maxByOption(_.upTo)

  /** All offsets from here on are pending. */
  val upTo: Long = furthest.fold(0L)(_.upTo)

  /** The pending offsets below [[upTo]]: no mark covers them. */
  val pending: OffsetRanges = furthest.fold(OffsetRanges.Empty) { mark =>
    marks.foldLeft(mark.pending)((left, other) => left.intersect(other.pending.andFrom(other.upTo)))
  }

  def apply(offset: Long): Boolean = offset < upTo && !pending.contains(offset)

  /** The first offset that is pending. */
  def first: Long = pending.first.getOrElse(upTo)
}
