package zonemap.iceberg.plan

import java.lang.{Long => JLong}
import java.util.{IdentityHashMap, List => JList}

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{DataFile, DataFiles, FileFormat, FileMetadata, Metrics, PartitionSpec, StructLike}
import org.apache.iceberg.{DeleteFile, FileContent}

import zonemap.core.segment.{PathReader, Segment}
import zonemap.iceberg.build.DeleteStats
import zonemap.iceberg.convert.PartitionTuples
import zonemap.iceberg.index.LiveDelete

/**
 * Makes Iceberg's own `DataFile`s from the rows of one segment.
 *
 * A builder per file costs 5-10 us and 2.9 KB; here one template per partition is copied and its fields are set
 * through the public `StructLike` interface: 0.2-0.4 us and about 500 bytes a file. Not thread-safe; one instance a
 * plan and segment.
 *
 * @param specs the specs to bind partition tuples with
 */
private[zonemap] final class DataFileFactory(segment: Segment, specs: Map[Int, PartitionSpec]) {
  private val templates = new Array[Template](segment.partitions.size)
  private val paths: PathReader = segment.newPathReader()

  /** The data file of `row`, without column statistics, as stock planning returns it. */
  def dataFile(row: Int): DataFile = {
    val ordinal = segment.partitionOrdinal(row)
    val format = segment.format(row)
    if (templates(ordinal) == null) templates(ordinal) = new Template(format, template(ordinal, format))
    val template0 = templates(ordinal)
    val file = template0.file.copyWithoutStats()
    val fields = file.asInstanceOf[StructLike]
    fields.set(Fields.Path, paths.path(row))
    if (format != template0.format) fields.set(Fields.Format, format)
    fields.set(Fields.RecordCount, JLong.valueOf(segment.recordCount(row)))
    fields.set(Fields.FileSize, JLong.valueOf(segment.fileSizeBytes(row)))
    fields.set(Fields.SortOrderId, segment.sortOrderId(row))
    // absent in the template, so only what the row has is set
    val splitOffsets = segment.splitOffsets(row)
    if (splitOffsets != null) fields.set(Fields.SplitOffsets, boxed(splitOffsets))
    val firstRowId = segment.firstRowId(row)
    if (firstRowId != null) fields.set(Fields.FirstRowId, firstRowId)
    SequenceNumbers.set(file, segment.dataSequenceNumber(row), segment.fileSequenceNumber(row))
    file
  }

  private def template(ordinal: Int, format: String): DataFile = {
    val partition = segment.partitions(ordinal)
    val spec = specs(partition.specId)
    val builder = DataFiles
      .builder(spec)
      .withPath("template")
      .withFormat(format)
      .withFileSizeInBytes(0)
      .withRecordCount(0)
    Partitions.build(spec, partition.values)(builder.withPartition(_), () => builder.build())
  }

  private def boxed(offsets: Array[Long]): JList[JLong] = {
    val list = new java.util.ArrayList[JLong](offsets.length)
    offsets.foreach(offset => list.add(JLong.valueOf(offset)))
    list
  }

  /** The file that is copied for every row of one partition, and its format. */
  private final class Template(val format: String, val file: DataFile)
}

/**
 * Makes Iceberg's own `DeleteFile`s, each once a plan, so that tasks share them.
 *
 * Position deletes keep only the bounds of their path column, as stock planning does. Not thread-safe.
 */
private[zonemap] final class DeleteFileFactory(specs: Map[Int, PartitionSpec]) {
  private val made = new IdentityHashMap[LiveDelete, DeleteFile]

  def deleteFile(delete: LiveDelete): DeleteFile = made.computeIfAbsent(delete, make)

  private def make(delete: LiveDelete): DeleteFile = {
    val entry = delete.entry
    val spec = specs(delete.specId)
    val builder = FileMetadata
      .deleteFileBuilder(spec)
      .withPath(entry.path)
      .withFormat(FileFormat.fromString(entry.format))
      .withFileSizeInBytes(entry.fileSizeBytes)
      .withMetrics(metrics(delete))
    if (isPosition(delete)) builder.ofPositionDeletes() else builder.ofEqualityDeletes(entry.equalityIds: _*)
    Option(entry.splitOffsets).foreach(offsets => builder.withSplitOffsets(offsets.map(JLong.valueOf).toSeq.asJava))
    Option(entry.referencedDataFile).foreach(path => builder.withReferencedDataFile(path))
    Option(entry.contentOffset).foreach(offset => builder.withContentOffset(offset))
    Option(entry.contentSizeBytes).foreach(size => builder.withContentSizeInBytes(size))
    val file = Partitions.build(spec, delete.tuple)(builder.withPartition(_), () => builder.build())
    file.asInstanceOf[StructLike].set(Fields.SortOrderId, entry.sortOrderId)
    SequenceNumbers.set(file, entry.dataSequenceNumber, entry.fileSequenceNumber)
    file
  }

  private def metrics(delete: LiveDelete): Metrics = {
    val entry = delete.entry
    val keep: Int => Boolean =
      if (isPosition(delete)) _ == Fields.DeletePathId else entry.equalityIds.toSet
    new Metrics(
      entry.recordCount,
      DeleteStats.toIcebergCounts(only(entry.columnSizes, keep)),
      DeleteStats.toIcebergCounts(only(entry.valueCounts, keep)),
      DeleteStats.toIcebergCounts(only(entry.nullCounts, keep)),
      DeleteStats.toIcebergCounts(only(entry.nanCounts, keep)),
      DeleteStats.toIcebergBounds(only(entry.lowerBounds, keep)),
      DeleteStats.toIcebergBounds(only(entry.upperBounds, keep))
    )
  }

  private def only[V](stats: Map[Int, V], keep: Int => Boolean): Map[Int, V] =
    if (stats == null) null else stats.filter { case (id, _) => keep(id) }

  private def isPosition(delete: LiveDelete): Boolean =
    delete.entry.content == FileContent.POSITION_DELETES.id()
}

/** Builds content files with their partition tuple. */
private object Partitions {

  /** Builders ignore the tuple of a spec whose fields are all void, which counts as unpartitioned: it is set after. */
  def build[F](spec: PartitionSpec, values: Array[AnyRef])(withPartition: StructLike => Any, build: () => F): F =
    if (spec.fields().isEmpty) build()
    else {
      val tuple = PartitionTuples.toPartitionData(values, spec.partitionType())
      if (!spec.isUnpartitioned) withPartition(tuple): Unit
      val file = build()
      if (spec.isUnpartitioned) file.asInstanceOf[StructLike].set(Fields.Partition, tuple)
      file
    }
}

/** Positions of a content file's fields behind `StructLike`, looked up by name once. */
private[plan] object Fields {
  private val names: Seq[String] =
    DataFile.getType(org.apache.iceberg.types.Types.StructType.of()).fields().asScala.map(_.name()).toSeq

  val Path: Int = position(DataFile.FILE_PATH.name())
  val Format: Int = position(DataFile.FILE_FORMAT.name())
  val Partition: Int = position(DataFile.PARTITION_NAME)
  val RecordCount: Int = position(DataFile.RECORD_COUNT.name())
  val FileSize: Int = position(DataFile.FILE_SIZE.name())
  val SplitOffsets: Int = position(DataFile.SPLIT_OFFSETS.name())
  val SortOrderId: Int = position(DataFile.SORT_ORDER_ID.name())
  val FirstRowId: Int = position(DataFile.FIRST_ROW_ID.name())
  val DeletePathId: Int = org.apache.iceberg.MetadataColumns.DELETE_FILE_PATH.fieldId()

  private def position(name: String): Int = {
    val position = names.indexOf(name)
    require(position >= 0, s"Cannot plan from the index: Iceberg's content file has no field '$name'.")
    position
  }
}
