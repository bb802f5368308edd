// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{PartitionData, Partitioning, Table}
import org.apache.iceberg.types.Types

import zonemap.core.segment.PartitionTuple
import zonemap.iceberg.convert.PartitionTuples.TupleKey

/**
 * Partitions of all specs of a table as tuples of one type, which has a field for each partition field of any spec whose
 * column the table still has. This is the column `partition` of Iceberg's metadata tables.
 */
private[zonemap] final class UnifiedPartitions(table: Table) {
  val partitionType: Types.StructType = Partitioning.partitionType(table)

  private val positions: Map[Int, Array[Int]] =
    PartitionTuples.specsById(table.specs()).map { case (id, spec) =>
      val fieldIds = spec.partitionType().fields().asScala.map(_.fieldId())
      id -> partitionType.fields().asScala.iterator.map(field => fieldIds.indexOf(field.fieldId())).toArray
    }

  /** Whether the first fields of tuples have the names and the types of all fields of `other`, in the same order. */
  def startsWith(other: Types.StructType): Boolean = {
    def named(of: Types.StructType) = of.fields().asScala.map(field => (field.name(), field.`type`()))
    named(partitionType).startsWith(named(other))
  }

  /** The tuple of a partition; fields that its spec lacks are null. */
  def tuple(partition: PartitionTuple): PartitionData =
    PartitionTuples.fill(new PartitionData(partitionType), values(partition), partitionType)

  /**
   * Equal for partitions that Iceberg counts as one: their tuples are equal and their specs have equally many of the
   * fields. So a field that is null and a field that the spec lacks are told apart.
   */
  def key(partition: PartitionTuple): TupleKey =
    PartitionTuples.key(positions(partition.specId).count(_ >= 0), values(partition))

  private def values(partition: PartitionTuple): Array[AnyRef] =
    positions(partition.specId).map(position => if (position < 0) null else partition.values(position))
}
