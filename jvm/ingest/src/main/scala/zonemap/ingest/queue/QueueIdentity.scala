// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.queue

import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.util.control.NonFatal

import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode
import org.apache.iceberg.util.JsonUtil

import zonemap.ingest.store.IngestFiles

/**
 * The incarnation of the queue that an ingest root belongs to.
 *
 * @param id the UUID of the incarnation
 * @param topic the Kafka topic; `None` for a spool
 */
private[zonemap] final case class QueueIdentity(id: String, topic: Option[String], createdAtMillis: Long)

/** The file that names the queue of an ingest root. Every process that opens a queue of the root compares it. */
private[zonemap] object QueueIdentity {
  private val SpoolFormat = 1

  /** That of a queue whose records are not in the root. A reader that knows only spools refuses it. */
  private val KafkaFormat = 2
  private val MaxBytes = 4096
  private val SettleMillis = 1500L

  def newSpool(nowMillis: Long): QueueIdentity = QueueIdentity(UUID.randomUUID().toString, None, nowMillis)

  /** The identity; `None` if the file does not exist. */
  def read(files: IngestFiles): Option[QueueIdentity] = files.read(SpoolNames.QueueId, MaxBytes).map { bytes =>
    try parse(new String(bytes, UTF_8))
    catch {
      case NonFatal(e) =>
        throw new IllegalStateException(
          s"Cannot open the queue '${files.root}': its file '${SpoolNames.QueueId}' is damaged: ${e.getMessage}. " +
            "Restore the file; the property of the table that begins with zonemap.ingest.pointer names the queue.")
    }
  }

  /**
   * Creates the file; if another process creates one at the same time, both return the same.
   *
   * In a store without atomic creation the last one that was written counts. This process may have written it before
   * another one did, and so it reads the identity after the time that a creation takes.
   */
  def create(files: IngestFiles, identity: QueueIdentity): QueueIdentity = {
    files.create(SpoolNames.QueueId, json(identity)): Unit
    if (!files.createsAtomically) Thread.sleep(SettleMillis)
    read(files).getOrElse(
      throw new IllegalStateException(
        s"Cannot open the queue '${files.root}': the file '${SpoolNames.QueueId}' vanished after it was created. " +
          "Check which process deletes files there."))
  }

  /** Names another incarnation. */
  def replace(files: IngestFiles, identity: QueueIdentity): Unit = files.replace(SpoolNames.QueueId, json(identity))

  private def json(identity: QueueIdentity): Array[Byte] = JsonUtil
    .generate(
      json => {
        json.writeStartObject()
        json.writeNumberField("format", if (identity.topic.isEmpty) SpoolFormat else KafkaFormat)
        json.writeStringField("queue-id", identity.id)
        identity.topic.foreach(json.writeStringField("kafka-topic", _))
        json.writeNumberField("created-ms", identity.createdAtMillis)
        json.writeEndObject()
      },
      false
    )
    .getBytes(UTF_8)

  private def parse(text: String): QueueIdentity = JsonUtil.parse(
    text,
    (node: JsonNode) => {
      val format = JsonUtil.getInt("format", node)
      require(
        format == SpoolFormat || format == KafkaFormat,
        s"it has format $format, and this release reads $SpoolFormat and $KafkaFormat")
      QueueIdentity(
        UUID.fromString(JsonUtil.getString("queue-id", node)).toString,
        Option.when(format == KafkaFormat)(JsonUtil.getString("kafka-topic", node)),
        JsonUtil.getLong("created-ms", node)
      )
    }
  )
}
