// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.shaded.com.fasterxml.jackson.core.JsonGenerator
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode
import org.apache.iceberg.util.JsonUtil

import zonemap.ingest.record.{Digits, Framed, IngestRecord, Nonce}

/** The file of a [[LaneState]]: a first line with a checksum, then one JSON object; docs/design/INGEST.md. */
private[zonemap] object StateFile {
  val Folder = "state"

  /** The longest state file that is written and read. */
  val MaxBytes: Int = 512 << 20

  private val Format = 1

  /** The format of a state that has retired lanes: an earlier release would forget which. */
  private val FormatWithRetired = 2
  private val Name = s"$Folder/([0-9]{20})-(${Nonce.Pattern})\\.json".r

  /** The path of a state file in the ingest root. */
  def path(no: Long, nonce: String): String = s"$Folder/${Digits.of(no)}-$nonce.json"

  /** Whether a path below the ingest root is that of a state file. */
  def isState(path: String): Boolean = Name.matches(path)

  /** @throws IllegalStateException if the state is too long for readers: it must not be committed */
  def encode(state: LaneState): Array[Byte] = {
    val bytes = framed(state)
    if (bytes.length > MaxBytes)
      throw new IllegalStateException(
        s"Cannot write the state of branch '${state.branch}': its ${state.lanes.size} lanes take ${bytes.length} bytes, " +
          s"more than $MaxBytes, so nothing is committed. Let producers use fewer lanes with names.")
    bytes
  }

  private def framed(state: LaneState): Array[Byte] =
    Framed.encode(
      JsonUtil.generate(
        json => {
          json.writeStartObject()
          json.writeNumberField("format", if (state.retired < 0) Format else FormatWithRetired)
          json.writeNumberField("no", state.pointer.no)
          json.writeStringField("nonce", state.pointer.nonce)
          json.writeStringField("queue-id", state.pointer.queueId)
          json.writeStringField("table-uuid", state.pointer.tableUuid)
          json.writeStringField("branch", state.branch)
          state.prevPointer.fold(json.writeNullField("prev-pointer"))(json.writeStringField("prev-pointer", _))
          json.writeNumberField("base-snapshot-id", state.baseSnapshotId)
          writeLanes(json, state.lanes)
          if (state.retired >= 0) json.writeNumberField("retired", state.retired)
          writeNumbers(json, "times", state.times.flatMap(time => Seq(time.no, time.atMillis)))
          RefusedRecord.write(json, "quarantined", state.quarantined)
          writeTotals(json, state.totals)
          json.writeEndObject()
        },
        false
      ))

  private def writeLanes(json: JsonGenerator, lanes: Map[String, Watermark]): Unit = {
    json.writeObjectFieldStart("lanes")
    lanes.foreach { case (lane, watermark) =>
      json.writeObjectFieldStart(lane)
      json.writeNumberField("seq", watermark.seq)
      json.writeNumberField("at-ms", watermark.atMillis)
      writeNumbers(json, "holes", watermark.holes.toSeq.sorted)
      writeNumbers(json, "filled", watermark.filled.toSeq.sorted)
      writeNumbers(json, "gaps", watermark.gaps.flatMap(gap => Seq(gap.after, gap.before)))
      if (watermark.forgotten != IngestRecord.NoSeq) json.writeNumberField("forgotten", watermark.forgotten)
      json.writeNumberField("since", watermark.since)
      json.writeEndObject()
    }
    json.writeEndObject()
  }

  /** Leaves the field out if there are no numbers. */
  private def writeNumbers(json: JsonGenerator, field: String, numbers: Seq[Long]): Unit = if (numbers.nonEmpty) {
    json.writeArrayFieldStart(field)
    numbers.foreach(number => json.writeNumber(number))
    json.writeEndArray()
  }

  private def writeTotals(json: JsonGenerator, totals: CommittedTotals): Unit = {
    json.writeObjectFieldStart("stats")
    json.writeNumberField("commits", totals.commits)
    json.writeNumberField("records", totals.records)
    json.writeNumberField("files", totals.files)
    json.writeNumberField("rows", totals.rows)
    json.writeEndObject()
  }

  /** The state, or the reason why the bytes are none. */
  def decode(bytes: Array[Byte]): Either[String, LaneState] =
    Framed.decode(bytes).left.map(_.message).flatMap { body =>
      try Right(JsonUtil.parse(body, (node: JsonNode) => parse(node)))
      catch { case NonFatal(e) => Left(s"it is not a valid state: ${e.getMessage}") }
    }

  private def parse(node: JsonNode): LaneState = {
    val format = JsonUtil.getInt("format", node)
    require(
      format == Format || format == FormatWithRetired,
      s"it has format $format, and this release reads the formats $Format and $FormatWithRetired")
    val stats = JsonUtil.get("stats", node)
    LaneState(
      IngestPointer(
        JsonUtil.getLong("no", node),
        JsonUtil.getString("nonce", node),
        JsonUtil.getString("queue-id", node),
        JsonUtil.getString("table-uuid", node)),
      JsonUtil.getString("branch", node),
      Option(JsonUtil.getStringOrNull("prev-pointer", node)),
      JsonUtil.getLong("base-snapshot-id", node),
      JsonUtil
        .get("lanes", node)
        .properties()
        .asScala
        .map(lane => lane.getKey -> watermark(lane.getValue))
        .toMap,
      RefusedRecord.read("quarantined", node),
      CommittedTotals(
        JsonUtil.getLong("commits", stats),
        JsonUtil.getLong("records", stats),
        JsonUtil.getLong("files", stats),
        JsonUtil.getLong("rows", stats)),
      if (format == Format) IngestRecord.NoSeq else JsonUtil.getLong("retired", node),
      numbers(node, "times").grouped(2).map(time => StateTime(time.head, time.last)).toSeq
    )
  }

  /** A release that did not write `since` does not say on which numbers the branch has decided. */
  private def watermark(node: JsonNode) = Watermark(
    JsonUtil.getLong("seq", node),
    JsonUtil.getLong("at-ms", node),
    numbers(node, "holes").toSet,
    numbers(node, "filled").toSet,
    numbers(node, "gaps").grouped(2).map(ends => Gap(ends.head, ends.last)).toSeq,
    if (node.has("forgotten")) JsonUtil.getLong("forgotten", node) else IngestRecord.NoSeq,
    JsonUtil.getLong(if (node.has("since")) "since" else "seq", node)
  )

  private def numbers(node: JsonNode, field: String): Seq[Long] =
    if (node.has(field)) JsonUtil.getLongList(field, node).asScala.map(_.longValue()).toSeq else Nil
}
