// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.answer

import org.apache.iceberg.Table

import zonemap.iceberg.convert.UnifiedPartitions
import zonemap.iceberg.report.{StockReason, SwapReason}
import zonemap.iceberg.snapshot.SnapshotIndex

/** Makes the rows of a metadata table of one snapshot from the index, all of them or none. ADR 43. */
private[zonemap] object MetadataRows {

  /**
   * The rows, each with the values of the columns of the question.
   *
   * @param table the table that the index is of
   * @param most the most values of rows about single files, which the driver holds at about 100 bytes each
   */
  def of(
      index: SnapshotIndex,
      table: Table,
      question: MetadataQuestion,
      most: Long = MaxValues): Either[SwapReason, Seq[Array[AnyRef]]] = {
    val count = LiveFiles.count(index, question.table)
    val unified = new UnifiedPartitions(table)
    question.table match {
      case _ if !question.partitionType.forall(unified.startsWith) =>
        Left(SwapReason.NoIndex(StockReason.SchemaMismatch))
      case MetadataTable.Partitions =>
        val unknown = SwapReason.MetadataColumns(question.columns.filter(PartitionRows.ofCommits))
        new PartitionRows(index, table, unified, question).rows.toRight(unknown)
      case _: MetadataTable.Files if count * question.columns.size > most =>
        Left(SwapReason.MetadataTooLarge(count))
      case _: MetadataTable.Files => Right(new FileRows(index, unified, question).rows)
    }
  }

  private val MaxValues = 1000000L
}
