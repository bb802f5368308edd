// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.prune

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.PartitionSpec

import zonemap.core.predicate.ColumnRef
import zonemap.iceberg.convert.{PartitionTuples, SourceConditions}
import zonemap.iceberg.convert.PartitionTuples.TupleKey

/**
 * Estimates the share of files that partition pruning retains: it decides whether pruning is worth trying, never
 * which files are pruned.
 */
private[prune] object PartitionShare {

  /**
   * The share of the files, 0 to 1, that may hold one value of the column by their partitions, if values are
   * distributed over the partitions as files are.
   */
  def of(files: FileSet, column: ColumnRef): Double =
    if (files.count == 0) 1.0
    else {
      val inPartition = mutable.HashMap.empty[TupleKey, Long]
      val inSpec = mutable.HashMap.empty[Int, Long]
      files.foreachSegment { (segment, rows) =>
        val keys = segment.partitions.map(p => keyOf(p.specId, p.values, files.specOf(p.specId), column))
        rows.forEach { row =>
          val key = keys(segment.partitionOrdinal(row))
          inPartition(key) = inPartition.getOrElse(key, 0L) + 1
          inSpec(key.specId) = inSpec.getOrElse(key.specId, 0L) + 1
        }
      }
      inPartition.iterator.map { case (key, n) => n.toDouble / files.count * n / inSpec(key.specId) }.sum
    }

  /** The values of a tuple that transforms of the column yield; none if the spec does not partition by the column. */
  private def keyOf(specId: Int, values: Array[AnyRef], spec: Option[PartitionSpec], column: ColumnRef): TupleKey = {
    val fields = spec.filter(SourceConditions.hasSource(_, column)).map(_.fields().asScala.toSeq).getOrElse(Nil)
    val ofColumn = fields.zip(values).collect { case (field, v) if field.sourceId() == column.fieldId => v }
    PartitionTuples.key(specId, ofColumn.toArray)
  }
}
