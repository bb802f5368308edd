// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import java.lang.management.ManagementFactory
import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode
import org.apache.iceberg.util.JsonUtil
import org.slf4j.LoggerFactory

import zonemap.ingest.queue.SpoolNames
import zonemap.ingest.record.ShortText
import zonemap.ingest.store.IngestFiles
import zonemap.ingest.table.RefusedRecord

/**
 * The last pass of a committer, as it was written for people.
 *
 * @param committer the process that made the pass
 * @param waiting refused records that wait for a commit, or that block their lane
 * @param alarms sentences without their end on lanes that wait and on records that cannot be deleted
 */
private[zonemap] final case class LastPass(
    atMillis: Long,
    outcome: String,
    committer: String,
    waiting: Seq[RefusedRecord],
    alarms: Seq[String])

/** The advisory file of the last pass. A failure to write it is logged and does not fail the pass. */
private[zonemap] object StatusFile {
  private val log = LoggerFactory.getLogger("zonemap.ingest")
  private val MaxBytes = 1 << 20
  private val MaxWaiting = 100

  def write(files: IngestFiles, results: Seq[PassResult], settings: IngestSettings, nowMillis: Long): Unit =
    try files.replace(SpoolNames.Status, json(results, settings, nowMillis).getBytes(UTF_8))
    catch { case NonFatal(e) => log.warn(s"Cannot write '${files.root}/${SpoolNames.Status}': $e") }

  /** The last pass; `None` if no committer wrote one that can be read. */
  def read(files: IngestFiles): Option[LastPass] =
    try
      files
        .read(SpoolNames.Status, MaxBytes)
        .map(bytes => JsonUtil.parse(new String(bytes, UTF_8), (node: JsonNode) => parse(node)))
    catch { case NonFatal(_) => None }

  /** The outcome of a pass as one word and, if a person needs it, its reason. */
  def text(outcome: PassOutcome): String = outcome match {
    case PassOutcome.Idle                => "idle"
    case PassOutcome.Paused(reason)      => s"paused: $reason"
    case c: PassOutcome.Committed        => s"committed snapshot ${c.snapshotId} with ${c.records} records"
    case PassOutcome.Fenced              => "fenced: another committer was faster"
    case PassOutcome.Unresolved(why)     => s"unresolved: ${ShortText.of(why)}"
    case PassOutcome.Stopped(code, text) => s"stopped ($code): ${ShortText.of(text)}"
  }

  private def json(results: Seq[PassResult], settings: IngestSettings, nowMillis: Long): String = JsonUtil.generate(
    json => {
      json.writeStartObject()
      json.writeNumberField("at-ms", nowMillis)
      json.writeStringField("committer", ManagementFactory.getRuntimeMXBean.getName)
      json.writeStringField("outcome", results.map(r => s"${r.branch}: ${text(r.outcome)}").mkString("; "))
      val waiting = results.filterNot(_.outcome.isInstanceOf[PassOutcome.Committed]).flatMap(_.refused)
      RefusedRecord.write(json, "refused", waiting.take(MaxWaiting))
      json.writeArrayFieldStart("alarms")
      results.flatMap(Alarms.waiting(_, settings, nowMillis)).distinct.take(MaxWaiting).foreach(json.writeString)
      json.writeEndArray()
      json.writeEndObject()
    },
    false
  )

  private def parse(node: JsonNode): LastPass = LastPass(
    JsonUtil.getLong("at-ms", node),
    JsonUtil.getString("outcome", node),
    JsonUtil.getString("committer", node),
    RefusedRecord.read("refused", node),
    if (node.has("alarms")) JsonUtil.getStringList("alarms", node).asScala.toSeq else Nil
  )
}
