package zonemap.iceberg.plan

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
 * Files of Iceberg's own classes to copy: a builder makes one of each kind a spec, since it and every new
 * `PartitionData` make an Avro schema, some 50 us; a tuple is made once. Not thread-safe; one instance a plan.
 *
 * @param specs the specs to bind partition tuples with
 */
private[zonemap] final class ContentFileTemplates(specs: Map[Int, PartitionSpec]) {
  import ContentFileTemplates._

  private val dataFiles = mutable.HashMap.empty[Int, DataFile]
  private val deleteFiles = mutable.HashMap.empty[Int, DeleteFile]
  private val emptyTuples = mutable.HashMap.empty[Int, PartitionData]
  private val stands = mutable.HashMap.empty[Int, SharedTuple]
  private val tuples = new IdentityHashMap[Array[AnyRef], PartitionData]

  /** A data file of that partition and of [[Format]], with nothing else to keep. */
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

  /** A position delete file of that partition and of [[Format]], with nothing else to keep. */
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

  /** A tuple of void fields is there, although the spec then counts as unpartitioned. */
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
 * A file to copy for each of a partition. Nobody changes a file's tuple, so the copies share one: a copy of it for each
 * takes as long as the rest of the file. Not thread-safe.
 *
 * @param file what its fields are set on
 * @param tuple what stands in the file for the tuple of its copies, and that tuple
 */
private[plan] final class DataFileTemplate(val file: DataFile, tuple: Option[(SharedTuple, PartitionData)]) {
  private val stand = tuple.map(_._1).orNull
  private val shared = tuple.map(_._2).orNull

  /** The file as it is, with the tuple of its partition, without column statistics. */
  def copy(): DataFile = {
    if (stand != null) stand.tuple = shared
    file.copyWithoutStats()
  }
}

/** Is copied as another tuple, whichever it was told last: one a spec, since a new one makes an Avro schema. */
private[plan] final class SharedTuple(partitionType: Types.StructType) extends PartitionData(partitionType) {
  var tuple: PartitionData = _

  override def copy(): PartitionData = tuple
}

private[plan] object ContentFileTemplates {
  val Format: FileFormat = FileFormat.PARQUET
  private val NoPath = "template"
}

/** Positions of a content file's fields behind `StructLike`, looked up by name once. */
private[plan] object Fields {
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
