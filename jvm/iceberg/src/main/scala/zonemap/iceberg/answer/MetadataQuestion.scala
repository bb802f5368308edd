// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.answer

import org.apache.iceberg.{DataFilesTable, DeleteFilesTable, FilesTable, PartitionData, PartitionsTable, Table}
import org.apache.iceberg.types.{Type, Types}

/** A metadata table of Iceberg whose rows the index can make. */
private[zonemap] sealed abstract class MetadataTable {

  /** The columns that the index holds as the manifests state them. */
  def held: Set[String]

  /** Whether its rows are about data files. */
  def hasData: Boolean

  /** Whether its rows are about delete files. */
  def hasDeletes: Boolean
}

private[zonemap] object MetadataTable {
  case object Partitions extends MetadataTable {
    override val held: Set[String] = PartitionRows.columns.keySet
    override val hasData = true
    override val hasDeletes = true
  }

  /** The files of the snapshot, or those of some kinds. */
  final case class Files(hasData: Boolean, hasDeletes: Boolean) extends MetadataTable {
    override val held: Set[String] = FileRows.columns.keySet
  }

  def of(table: Table): Option[MetadataTable] =
    table match {
      case _: PartitionsTable  => Some(Partitions)
      case _: FilesTable       => Some(Files(hasData = true, hasDeletes = true))
      case _: DataFilesTable   => Some(Files(hasData = true, hasDeletes = false))
      case _: DeleteFilesTable => Some(Files(hasData = false, hasDeletes = true))
      case _                   => None
    }
}

/**
 * What a query reads of a metadata table.
 *
 * @param columns the names of the columns, which the index must hold
 * @param partitionType the type of the column `partition` that the query was resolved with; `None` if there is no such
 *   column
 * @param converted makes the value that the engine reads of a value of Iceberg's class for a type
 */
private[zonemap] final case class MetadataQuestion(
    table: MetadataTable,
    columns: Seq[String],
    partitionType: Option[Types.StructType],
    converted: (Type, AnyRef) => AnyRef) {

  /** The value of the column `partition` that the engine reads. */
  def partition(tuple: PartitionData): AnyRef = converted(partitionType.getOrElse(tuple.getPartitionType), tuple)
}
