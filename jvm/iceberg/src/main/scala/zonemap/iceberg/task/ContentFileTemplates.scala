// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task

import java.util.IdentityHashMap

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.{
  DataFile,
  DataFiles,
  DeleteFile,
  FileFormat,
  FileMetadata,
  PartitionData,
  PartitionSpec,
  StructLike
}
import org.apache.iceberg.types.Types

import zonemap.core.segment.PartitionTuple
import zonemap.iceberg.convert.PartitionTuples

/**
 * Templates of Iceberg's own content files, of which the planner makes copies. A builder makes one template of each
 * kind for each spec, because the builder and every new `PartitionData` make an Avro schema, which takes some 50 us.
 * Each tuple is made once. Not thread-safe; one instance for each plan.
 *
 * @param specs the specs to which partition tuples are bound
 */
private[zonemap] final class ContentFileTemplates(specs: Map[Int, PartitionSpec]) {
  import ContentFileTemplates._

  private val dataFiles = mutable.HashMap.empty[Int, DataFile]
  private val deleteFiles = mutable.HashMap.empty[Int, DeleteFile]
  private val emptyTuples = mutable.HashMap.empty[Int, PartitionData]
  private val stands = mutable.HashMap.empty[Int, SharedTuple]
  private val tuples = new IdentityHashMap[Array[AnyRef], PartitionData]

  /** A data file of this partition and of [[Format]]; a caller sets all other fields. */
  def dataFile(partition: PartitionTuple): DataFileTemplate = {
    val bare = dataFiles.getOrElseUpdate(
      partition.specId,
      DataFiles
        .builder(specs(partition.specId))
        .withPath(NoPath)
        .withFormat(Format)
        .withFileSizeInBytes(0)
        .withRecordCount(0)
        .build())
    val file = bare.copyWithoutStats()
    if (specs(partition.specId).fields().isEmpty) new DataFileTemplate(file, None)
    else {
      val stand = stands.getOrElseUpdate(partition.specId, new SharedTuple(specs(partition.specId).partitionType()))
      file.asInstanceOf[StructLike].set(Fields.Partition, stand)
      new DataFileTemplate(file, Some(stand -> tupleOf(partition.specId, partition.values)))
    }
  }

  /** A position delete file of this partition and of [[Format]]; a caller sets all other fields. */
  def deleteFile(specId: Int, tuple: Array[AnyRef]): DeleteFile = {
    val bare = deleteFiles.getOrElseUpdate(
      specId,
      FileMetadata
        .deleteFileBuilder(specs(specId))
        .ofPositionDeletes()
        .withPath(NoPath)
        .withFormat(Format)
        .withFileSizeInBytes(0)
        .withRecordCount(0)
        .build()
    )
    val file = bare.copyWithoutStats()
    put(file, specId, tuple)
    file
  }

  /** A spec whose fields are all void counts as unpartitioned, but its files still have a tuple. */
  private def put(file: AnyRef, specId: Int, tuple: Array[AnyRef]): Unit =
    if (!specs(specId).fields().isEmpty)
      file.asInstanceOf[StructLike].set(Fields.Partition, tupleOf(specId, tuple))

  private def tupleOf(specId: Int, tuple: Array[AnyRef]): PartitionData =
    tuples.computeIfAbsent(tuple, partitionData(specId, _))

  private def partitionData(specId: Int, tuple: Array[AnyRef]): PartitionData = {
    val partitionType = specs(specId).partitionType()
    val data = emptyTuples.getOrElseUpdate(specId, new PartitionData(partitionType)).copy()
    PartitionTuples.fill(data, tuple, partitionType)
  }
}

/**
 * A data file to copy for each file of a partition. No code changes a file's tuple, so the copies share one: copying
 * the tuple takes as long as copying the rest of the file. Not thread-safe.
 *
 * @param file the file to copy; a caller sets its fields before each copy
 * @param tuple the placeholder that `file` has as its tuple, and the tuple that the copies share
 */
private[task] final class DataFileTemplate(val file: DataFile, tuple: Option[(SharedTuple, PartitionData)]) {
  private val stand = tuple.map(_._1).orNull
  private val shared = tuple.map(_._2).orNull

  /** A copy of the file with the tuple of its partition, without column statistics. */
  def copy(): DataFile = {
    if (stand != null) stand.tuple = shared
    file.copyWithoutStats()
  }
}

/**
 * A placeholder whose copy is `tuple`. The files of a spec share one, because each `PartitionData` makes an Avro
 * schema.
 */
private[task] final class SharedTuple(partitionType: Types.StructType) extends PartitionData(partitionType) {
  var tuple: PartitionData = _

  override def copy(): PartitionData = tuple
}

private[task] object ContentFileTemplates {
  val Format: FileFormat = FileFormat.PARQUET
  private val NoPath = "template"
}

/** The positions of a content file's fields in `StructLike`, looked up by name once. */
private[task] object Fields {
  private val names: Seq[String] =
    DataFile.getType(Types.StructType.of()).fields().asScala.map(_.name()).toSeq

  val Content: Int = position(DataFile.CONTENT.name())
  val Path: Int = position(DataFile.FILE_PATH.name())
  val Format: Int = position(DataFile.FILE_FORMAT.name())
  val Partition: Int = position(DataFile.PARTITION_NAME)
  val RecordCount: Int = position(DataFile.RECORD_COUNT.name())
  val FileSize: Int = position(DataFile.FILE_SIZE.name())
  val ColumnSizes: Int = position(DataFile.COLUMN_SIZES.name())
  val ValueCounts: Int = position(DataFile.VALUE_COUNTS.name())
  val NullCounts: Int = position(DataFile.NULL_VALUE_COUNTS.name())
  val NanCounts: Int = position(DataFile.NAN_VALUE_COUNTS.name())
  val LowerBounds: Int = position(DataFile.LOWER_BOUNDS.name())
  val UpperBounds: Int = position(DataFile.UPPER_BOUNDS.name())
  val SplitOffsets: Int = position(DataFile.SPLIT_OFFSETS.name())
  val EqualityIds: Int = position(DataFile.EQUALITY_IDS.name())
  val SortOrderId: Int = position(DataFile.SORT_ORDER_ID.name())
  val FirstRowId: Int = position(DataFile.FIRST_ROW_ID.name())
  val ReferencedDataFile: Int = position(DataFile.REFERENCED_DATA_FILE.name())
  val ContentOffset: Int = position(DataFile.CONTENT_OFFSET.name())
  val ContentSize: Int = position(DataFile.CONTENT_SIZE.name())

  private def position(name: String): Int = {
    val position = names.indexOf(name)
    require(position >= 0, s"Cannot plan from the index: Iceberg's content file has no field '$name'.")
    position
  }
}
