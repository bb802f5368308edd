// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import scala.jdk.CollectionConverters._

import org.apache.iceberg.shaded.com.fasterxml.jackson.core.JsonGenerator
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode
import org.apache.iceberg.util.JsonUtil

/**
 * A record that cannot be committed: the code is public, the message is for people. In a state, its lane has passed it,
 * or it lies beside the chain of its lane.
 */
private[zonemap] final case class RefusedRecord(lane: String, seq: Long, nonce: String, code: String, message: String)

/** The form of refused records in the files of an ingest root. */
private[ingest] object RefusedRecord {

  def write(json: JsonGenerator, field: String, records: Seq[RefusedRecord]): Unit = {
    json.writeArrayFieldStart(field)
    records.foreach { refused =>
      json.writeStartObject()
      json.writeStringField("lane", refused.lane)
      json.writeNumberField("seq", refused.seq)
      json.writeStringField("nonce", refused.nonce)
      json.writeStringField("code", refused.code)
      json.writeStringField("message", refused.message)
      json.writeEndObject()
    }
    json.writeEndArray()
  }

  def read(field: String, node: JsonNode): Seq[RefusedRecord] =
    JsonUtil.get(field, node).elements().asScala.map(one).toSeq

  private def one(node: JsonNode) = RefusedRecord(
    JsonUtil.getString("lane", node),
    JsonUtil.getLong("seq", node),
    JsonUtil.getString("nonce", node),
    JsonUtil.getString("code", node),
    JsonUtil.getString("message", node)
  )
}
