package zonemap.ingest.queue

import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.util.control.NonFatal

import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode
import org.apache.iceberg.util.JsonUtil

import zonemap.ingest.store.IngestFiles

/** The file that names the incarnation of a spool. */
private[queue] object QueueIdentity {
  private val Format = 1
  private val MaxBytes = 4096
  private val SettleMillis = 1500L

  /** The identity; `None` if the file does not exist. */
  def read(files: IngestFiles): Option[String] = files.read(SpoolNames.QueueId, MaxBytes).map { bytes =>
    try parse(new String(bytes, UTF_8))
    catch {
      case NonFatal(e) =>
        throw new IllegalStateException(
          s"Cannot open the queue '${files.root}': its file '${SpoolNames.QueueId}' is damaged: ${e.getMessage}. " +
            "Restore the file; the property of the table that begins with zonemap.ingest.pointer names the queue.")
    }
  }

  /**
   * Creates the identity; if another process creates one at the same time, both return the same.
   *
   * In a store without atomic creation the last one that was written counts. This process may have written it before
   * another one did, and so it reads the identity after the time that a creation takes.
   */
  def create(files: IngestFiles, nowMillis: Long): String = {
    val json = JsonUtil.generate(
      json => {
        json.writeStartObject()
        json.writeNumberField("format", Format)
        json.writeStringField("queue-id", UUID.randomUUID().toString)
        json.writeNumberField("created-ms", nowMillis)
        json.writeEndObject()
      },
      false
    )
    files.create(SpoolNames.QueueId, json.getBytes(UTF_8)): Unit
    if (!files.createsAtomically) Thread.sleep(SettleMillis)
    read(files).getOrElse(
      throw new IllegalStateException(
        s"Cannot open the queue '${files.root}': the file '${SpoolNames.QueueId}' vanished after it was created. " +
          "Check which process deletes files there."))
  }

  private def parse(text: String): String = JsonUtil.parse(
    text,
    (node: JsonNode) => {
      val format = JsonUtil.getInt("format", node)
      require(format == Format, s"it has format $format, and this release reads format $Format")
      UUID.fromString(JsonUtil.getString("queue-id", node)).toString
    }
  )
}
