// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.write

import scala.util.control.NonFatal

import org.apache.iceberg.{ContentFileParser, DataFile, PartitionSpec, StructLike}
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode
import org.apache.iceberg.util.{JsonUtil, StructLikeWrapper}

import zonemap.ingest.record.PartitionKeys

/** Whether a record can hold the partition of a data file: the JSON of single values has no NaN, for example. */
private[write] object QueuedPartition {

  /** The rest of a sentence about the record, with the next step; `None` if the committer reads the same partition. */
  def problem(file: DataFile, spec: PartitionSpec): Option[String] =
    if (spec.isUnpartitioned) None
    else
      try {
        val json = PartitionKeys.json(file, spec)
        val specs = java.util.Map.of(Int.box(spec.specId()), spec)
        val read = JsonUtil.parse(json, (node: JsonNode) => ContentFileParser.fromJson(node, specs))
        Option.unless(isSame(file.partition(), read.partition(), spec))(refusal(file, spec, "it reads another value"))
      } catch { case NonFatal(e) => Some(refusal(file, spec, e.getMessage)) }

  private def isSame(one: StructLike, two: StructLike, spec: PartitionSpec): Boolean = {
    val wrapper = StructLikeWrapper.forType(spec.partitionType())
    wrapper.copyFor(one) == wrapper.copyFor(two)
  }

  private def refusal(file: DataFile, spec: PartitionSpec, why: String): String =
    s"the partition '${spec.partitionToPath(file.partition())}' of its data file '${file.location()}' cannot be put " +
      s"into a record: $why. Write these rows with format iceberg."
}
