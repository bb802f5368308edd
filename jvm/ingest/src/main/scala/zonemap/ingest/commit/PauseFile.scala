// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NonFatal

import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode
import org.apache.iceberg.util.JsonUtil

import zonemap.ingest.queue.SpoolNames
import zonemap.ingest.store.IngestFiles

/** A pause that a person has set for the committers of a table. */
private[zonemap] final case class CommitPause(reason: String, sinceMillis: Long)

/** The file of the pause. While it exists, even with unreadable content, committers do nothing. */
private[zonemap] object PauseFile {
  private val MaxBytes = 1 << 16

  def read(files: IngestFiles): Option[CommitPause] =
    try files.read(SpoolNames.Paused, MaxBytes).map(parse(files, _))
    catch {
      case NonFatal(e) if files.length(SpoolNames.Paused).isDefined =>
        Some(CommitPause(s"'${files.root}/${SpoolNames.Paused}' cannot be read: $e", 0L))
    }

  private def parse(files: IngestFiles, bytes: Array[Byte]): CommitPause =
    try
      JsonUtil.parse(
        new String(bytes, UTF_8),
        (node: JsonNode) => CommitPause(JsonUtil.getString("reason", node), JsonUtil.getLong("since-ms", node)))
    catch { case NonFatal(_) => CommitPause(s"the content of '${files.root}/${SpoolNames.Paused}' cannot be read", 0L) }

  def write(files: IngestFiles, pause: CommitPause): Unit = files.replace(
    SpoolNames.Paused,
    JsonUtil
      .generate(
        json => {
          json.writeStartObject()
          json.writeStringField("reason", pause.reason)
          json.writeNumberField("since-ms", pause.sinceMillis)
          json.writeEndObject()
        },
        false
      )
      .getBytes(UTF_8)
  )

  def delete(files: IngestFiles): Unit = files.delete(SpoolNames.Paused)
}
