// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.record

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{ContentFileParser, DataFile, PartitionSpec}
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import org.apache.iceberg.util.JsonUtil

/**
 * The ids of the partition fields in the JSON of a queued data file. The id of a spec does not tell which fields a value
 * is of: an expiry may remove an unused spec from the metadata, and Iceberg then gives its id to another spec.
 */
private[zonemap] object PartitionKeys {
  private val Field = "partition"

  /**
   * The JSON of `ContentFileParser`, with the partition as an object that has the id of each partition field as key.
   * Iceberg 1.11 writes an array, which names no fields and which earlier versions do not read.
   */
  def json(file: DataFile, spec: PartitionSpec): String = {
    val json = ContentFileParser.toJson(file, spec)
    if (spec.isUnpartitioned) json
    else
      JsonUtil.parse(
        json,
        (node: JsonNode) => {
          val partition = node.get(Field)
          val named = new ObjectNode(JsonNodeFactory.instance)
          idsOf(spec).zipWithIndex.foreach { case (id, i) =>
            val value = if (partition.isArray) partition.get(i) else partition.get(id)
            named.set[JsonNode](id, value): Unit // a value that is left out is null
          }
          node.asInstanceOf[ObjectNode].set[JsonNode](Field, named): Unit
          node.toString
        }
      )
  }

  /** The first partition field that the JSON of a data file names and the spec does not have. */
  def foreign(node: JsonNode, spec: PartitionSpec): Option[String] =
    Option(node.get(Field)).filter(_.isObject).flatMap { partition =>
      partition.fieldNames().asScala.toSeq.diff(idsOf(spec)).headOption
    }

  private def idsOf(spec: PartitionSpec): Seq[String] =
    spec.partitionType().fields().asScala.map(_.fieldId().toString).toSeq
}
