// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.record

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode
import org.apache.iceberg.util.JsonUtil

/** A record as a JSON object, and back. */
private[record] object RecordJson {

  def write(record: IngestRecord): String = JsonUtil.generate(
    json => {
      json.writeStartObject()
      json.writeStringField("queue-id", record.queueId)
      json.writeStringField("table-uuid", record.tableUuid)
      json.writeStringField("branch", record.branch)
      json.writeStringField("lane", record.lane)
      json.writeNumberField("seq", record.seq)
      json.writeNumberField("prev-seq", record.prevSeq)
      json.writeStringField("nonce", record.nonce)
      json.writeStringField("writer", record.writer)
      json.writeNumberField("created-ms", record.createdAtMillis)
      json.writeNumberField("schema-id", record.schemaId)
      json.writeNumberField("base-snapshot-id", record.baseSnapshotId)
      json.writeNumberField("format-version", record.formatVersion)
      json.writeNumberField("rows", record.rows)
      json.writeNumberField("bytes", record.bytes)
      json.writeArrayFieldStart("files")
      record.files.foreach { file =>
        json.writeStartObject()
        json.writeNumberField("spec-id", file.specId)
        json.writeFieldName("content-file")
        json.writeRawValue(file.contentFile)
        json.writeEndObject()
      }
      json.writeEndArray()
      if (record.existing) json.writeBooleanField("existing", true)
      json.writeEndObject()
    },
    false
  )

  def read(body: String): Either[RecordProblem, IngestRecord] =
    try checked(JsonUtil.parse(body, (node: JsonNode) => parse(node)))
    catch { case NonFatal(e) => invalid(e.getMessage) }

  private def parse(node: JsonNode): IngestRecord = IngestRecord(
    queueId = JsonUtil.getString("queue-id", node),
    tableUuid = JsonUtil.getString("table-uuid", node),
    branch = JsonUtil.getString("branch", node),
    lane = JsonUtil.getString("lane", node),
    seq = JsonUtil.getLong("seq", node),
    prevSeq = JsonUtil.getLong("prev-seq", node),
    nonce = JsonUtil.getString("nonce", node),
    writer = JsonUtil.getString("writer", node),
    createdAtMillis = JsonUtil.getLong("created-ms", node),
    schemaId = JsonUtil.getInt("schema-id", node),
    baseSnapshotId = JsonUtil.getLong("base-snapshot-id", node),
    formatVersion = JsonUtil.getInt("format-version", node),
    rows = JsonUtil.getLong("rows", node),
    bytes = JsonUtil.getLong("bytes", node),
    files = JsonUtil
      .get("files", node)
      .elements()
      .asScala
      .map(file => QueuedFile(JsonUtil.getInt("spec-id", file), JsonUtil.get("content-file", file).toString))
      .toSeq,
    existing = node.has("existing") && JsonUtil.getBool("existing", node)
  )

  private def checked(record: IngestRecord): Either[RecordProblem, IngestRecord] =
    if (record.seq < 0) invalid(s"its seq is ${record.seq}")
    else if (record.prevSeq < -1 || record.prevSeq >= record.seq)
      invalid(s"its prev-seq is ${record.prevSeq}, and its seq is ${record.seq}")
    else if (!Nonce.isNonce(record.nonce)) invalid(s"its nonce is '${record.nonce}'")
    else if (record.files.isEmpty) invalid("it names no data file")
    else Right(record)

  private def invalid(why: String) = Left(RecordProblem(RecordProblem.Invalid, s"it is not a valid record: $why"))
}
