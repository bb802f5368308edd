// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NonFatal

import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode
import org.apache.iceberg.util.JsonUtil

import zonemap.ingest.queue.{RecordName, SpoolNames}
import zonemap.ingest.record.{LaneName, RecordCodec, ShortText}
import zonemap.ingest.store.IngestFiles
import zonemap.ingest.table.Refusal

/**
 * Why and when a record was quarantined, or has left the quarantine.
 *
 * @param requeuedTo the lane and the nonce of its copy, if a person has appended it again; the `seq` of a copy is 0
 */
private[zonemap] final case class QuarantineReason(
    code: String,
    message: String,
    atMillis: Long,
    requeuedTo: Option[(String, String)] = None)

/**
 * The folder of the records that were refused for good. A record is put here only after a commit has listed it as
 * refused; it is therefore not in the table, and no later pass commits it.
 */
private[zonemap] final class Quarantine(files: IngestFiles) {
  import Quarantine._

  /** Puts a record, and the reason before it. Repeating the call changes nothing. */
  def put(name: RecordName, bytes: Array[Byte], refusal: Refusal, nowMillis: Long): Unit = {
    files.create(whyOf(name), json(QuarantineReason(refusal.code, refusal.message, nowMillis)).getBytes(UTF_8))
    files.create(pathOf(name), bytes): Unit
  }

  /** The records in quarantine. */
  def names(): Seq[RecordName] = files
    .list(SpoolNames.Quarantine)
    .flatMap(file => SpoolNames.parse(SpoolNames.Quarantine, file.path, file.modifiedAtMillis))

  /** The bytes of a record; `None` if it was discarded meanwhile. */
  def read(name: RecordName): Option[Array[Byte]] = files.read(pathOf(name), RecordCodec.MaxBytes)

  def reason(name: RecordName): Option[QuarantineReason] = files.read(whyOf(name), MaxReasonBytes).map { bytes =>
    try JsonUtil.parse(new String(bytes, UTF_8), (node: JsonNode) => parse(node))
    catch { case NonFatal(e) => QuarantineReason(Unreadable, s"the reason cannot be read: ${e.getMessage}", 0L) }
  }

  /** The reasons of the records of a lane and `seq`, also of those that have left the quarantine, by their nonces. */
  def reasons(lane: String, seq: Long): Map[String, QuarantineReason] = files
    .list(s"${SpoolNames.Quarantine}/${LaneName.encode(lane)}")
    .map(_.path)
    .filter(path => path.endsWith(WhySuffix) || path.endsWith(RecordSuffix))
    .flatMap(path => SpoolNames.parse(SpoolNames.Quarantine, s"${path.dropRight(WhySuffix.length)}$RecordSuffix", 0))
    .filter(_.seq == seq)
    .distinct
    .map(name => name.nonce -> reason(name).getOrElse(QuarantineReason(Unreadable, "the reason is missing", 0)))
    .toMap

  /** Deletes a record; the reason says from now on what became of it. */
  def remove(name: RecordName, reason: QuarantineReason): Unit = {
    files.replace(whyOf(name), json(reason).getBytes(UTF_8))
    files.delete(pathOf(name))
  }

  /** Marks a pending record that blocks its lane, so that the next pass quarantines it and goes on. */
  def markDiscarded(name: RecordName): Unit = files.create(markOf(name), Array.emptyByteArray): Unit

  /** The records with a mark. */
  def discarded(): Set[RecordName] = files
    .list(SpoolNames.Quarantine)
    .filter(_.path.endsWith(MarkSuffix))
    .flatMap { file =>
      val path = file.path.stripSuffix(MarkSuffix) + RecordSuffix
      SpoolNames.parse(SpoolNames.Quarantine, path, file.modifiedAtMillis)
    }
    .toSet

  def unmark(name: RecordName): Unit = files.delete(markOf(name))

  private def pathOf(name: RecordName): String =
    SpoolNames.record(SpoolNames.Quarantine, name.lane, name.seq, name.nonce)

  private def whyOf(name: RecordName): String = pathOf(name).stripSuffix(RecordSuffix) + WhySuffix

  private def markOf(name: RecordName): String = pathOf(name).stripSuffix(RecordSuffix) + MarkSuffix
}

private[zonemap] object Quarantine {
  private val RecordSuffix = ".rec"
  private val WhySuffix = ".why"
  private val MarkSuffix = ".discard"
  private val MaxReasonBytes = 1 << 20
  private val Unreadable = "unknown"

  private def json(reason: QuarantineReason): String = JsonUtil.generate(
    json => {
      json.writeStartObject()
      json.writeStringField("code", reason.code)
      json.writeStringField("message", ShortText.of(reason.message))
      json.writeNumberField("when-ms", reason.atMillis)
      reason.requeuedTo.foreach { case (lane, nonce) =>
        json.writeStringField("requeued-lane", lane)
        json.writeStringField("requeued-nonce", nonce)
      }
      json.writeEndObject()
    },
    false
  )

  private def parse(node: JsonNode): QuarantineReason = QuarantineReason(
    JsonUtil.getString("code", node),
    JsonUtil.getString("message", node),
    JsonUtil.getLong("when-ms", node),
    Option(JsonUtil.getStringOrNull("requeued-lane", node)).map(_ -> JsonUtil.getString("requeued-nonce", node))
  )
}
