// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task

import java.util.IdentityHashMap

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.{DataFile, DeleteFile, FileContent, MetadataColumns, Schema, StructLike}

import zonemap.core.column.BoundsColumn
import zonemap.core.segment.Segment
import zonemap.core.value.{ColumnType, Presence, UuidType, ZoneValue}
import zonemap.iceberg.convert.{DeleteStats, IcebergValues, PartitionTuples}
import zonemap.iceberg.convert.PartitionTuples.TupleKey
import zonemap.iceberg.snapshot.{LiveDelete, SnapshotDeletes}

/**
 * Finds the delete files that apply to a data file, by the rules of the table spec.
 *
 * A position delete applies when its data sequence number is at least the data file's, an equality delete when it is
 * greater; a deletion vector replaces all position deletes of its file. As in Iceberg, an equality delete file is
 * left out only when its bounds or null counts prove that it deletes no value of the data file. Unlike in Iceberg,
 * none is left out because of the scan's filter, and none because of float or double bounds, which exclude NaN. The
 * result may therefore contain equality-delete files that Iceberg drops. Applying them removes no row that belongs to
 * the scan's result, because the table spec applies them too. Iceberg's readers do not where an equality delete compares
 * a field of a struct: Iceberg plans such a snapshot, see [[zonemap.iceberg.plan.PinnedRelation]].
 *
 * Not thread-safe; one instance for each plan.
 */
private[zonemap] final class DeleteMatcher(
    deletes: SnapshotDeletes,
    templates: ContentFileTemplates,
    schemas: Iterable[Schema]) {
  import DeleteMatcher._

  private val files = new DeleteFileFactory(templates)
  private val ofKeys = mutable.HashMap.empty[TupleKey, PartitionDeletes]
  private val equalityGlobal = new Group(deletes.equalityGlobal)

  /** Finds the delete files for the data files of one segment. */
  final class Of(segment: Segment) {
    private val ofPartition = new Array[PartitionDeletes](segment.partitions.size)

    /** The delete files that apply to `file`, which is `row` of the segment; several data files may share the array. */
    def deletesFor(row: Int, file: DataFile): Array[DeleteFile] =
      if (deletes.isEmpty) NoDeletes
      else {
        val sequence = file.dataSequenceNumber().longValue
        val partition = partitionOf(row)
        val equality = joined(
          equalityGlobal.from(sequence + 1, mayDelete(_, segment, row)),
          partition.equality.from(sequence + 1, mayDelete(_, segment, row)))
        joined(equality, positionsFor(file.location(), partition, sequence))
      }

    private def partitionOf(row: Int): PartitionDeletes = {
      val ordinal = segment.partitionOrdinal(row)
      if (ofPartition(ordinal) == null) {
        val partition = segment.partitions(ordinal)
        val key = PartitionTuples.key(partition.specId, partition.values)
        ofPartition(ordinal) = ofKeys.getOrElseUpdate(key, new PartitionDeletes(key))
      }
      ofPartition(ordinal)
    }
  }

  private def positionsFor(path: String, partition: PartitionDeletes, sequence: Long): Array[DeleteFile] = {
    val ofPath = if (deletes.hasPaths) deletes.ofPath(path) else NoneOfPath
    if (ofPath.isEmpty) partition.positions.from(sequence)
    else
      ofPath.filter(_.isVector) match {
        // a delete file with a path applies to one data file, so it is made for one task
        case Array() =>
          joined(partition.positions.from(sequence), ofPath.drop(firstOf(ofPath, sequence)).map(files.newDeleteFile))
        case vectors => Array(files.newDeleteFile(applying(only(vectors, path), sequence)))
      }
  }

  private def only(vectors: Array[LiveDelete], path: String): LiveDelete = {
    require(
      vectors.length == 1,
      s"Cannot plan data file '$path': the snapshot has ${vectors.length} deletion vectors for it, not one.")
    vectors(0)
  }

  /** The delete files that may apply in one partition. */
  private final class PartitionDeletes(key: TupleKey) {
    val equality: Group = new Group(deletes.equalityIn(key))
    val positions: Group = new Group(deletes.positionsIn(key))
  }

  /** Delete files in the order of their data sequence numbers; data files with the same deletes share one array. */
  private final class Group(sorted: Array[LiveDelete]) {
    private var first = 0
    private var tail: Array[DeleteFile] = _

    /**
     * The deletes whose data sequence number is at least `sequence`; repeated calls return the same array if
     * possible.
     */
    def from(sequence: Long): Array[DeleteFile] = {
      val start = firstOf(sorted, sequence)
      if (start == sorted.length) NoDeletes
      else {
        if (tail == null || start != first) {
          first = start
          tail = sorted.drop(start).map(files.deleteFile)
        }
        tail
      }
    }

    /** The deletes whose data sequence number is at least `sequence` and that `passes` accepts. */
    def from(sequence: Long, passes: LiveDelete => Boolean): Array[DeleteFile] = {
      val start = firstOf(sorted, sequence)
      if (start == sorted.length) NoDeletes
      else sorted.iterator.drop(start).filter(passes).map(files.deleteFile).toArray
    }
  }

  private def joined(some: Array[DeleteFile], others: Array[DeleteFile]): Array[DeleteFile] =
    if (some.isEmpty) others else if (others.isEmpty) some else some ++ others

  private def applying(vector: LiveDelete, sequence: Long): LiveDelete = {
    require(
      vector.entry.dataSequenceNumber >= sequence,
      s"Cannot apply a deletion vector of sequence number ${vector.entry.dataSequenceNumber} to a data file of $sequence."
    )
    vector
  }

  /** The index of the first delete in a sorted group whose data sequence number is at least `sequence`. */
  private def firstOf(group: Array[LiveDelete], sequence: Long): Int = {
    var low = 0
    var high = group.length
    while (low < high) {
      val middle = (low + high) >>> 1
      if (group(middle).entry.dataSequenceNumber < sequence) low = middle + 1 else high = middle
    }
    low
  }

  private def mayDelete(delete: LiveDelete, segment: Segment, row: Int): Boolean =
    delete.entry.equalityIds.forall(id => mayShareValue(id, delete, segment, row))

  private def mayShareValue(id: Int, delete: LiveDelete, segment: Segment, row: Int): Boolean =
    (columnTypeOf(id), segment.column(id)) match {
      case (Some(columnType), Some(column)) =>
        val deletesNull = nullsOf(delete, id)
        val dataNulls = column.nulls(row)
        if (mayHoldNull(dataNulls) && mayHoldNull(deletesNull)) true
        else if (areAllAndNone(dataNulls, deletesNull) || areAllAndNone(deletesNull, dataNulls)) isRequired(id)
        else rangesMayMeet(id, columnType, delete, column, row)
      case _ => true
    }

  private def rangesMayMeet(
      id: Int,
      columnType: ColumnType,
      delete: LiveDelete,
      column: BoundsColumn,
      row: Int): Boolean =
    if (isUnordered(columnType) || column.columnType != columnType) true
    else {
      val bounds = for {
        dataLower <- Option(column.lower(row))
        dataUpper <- Option(column.upper(row))
        deleteLower <- deleteBound(delete.entry.lowerBounds, id, columnType)
        deleteUpper <- deleteBound(delete.entry.upperBounds, id, columnType)
      } yield dataLower.compare(deleteUpper) <= 0 && deleteLower.compare(dataUpper) <= 0
      bounds.getOrElse(true)
    }

  private def deleteBound(bounds: Map[Int, Array[Byte]], id: Int, columnType: ColumnType): Option[ZoneValue] =
    Option(bounds).flatMap(_.get(id)).flatMap(b => IcebergValues.decodeBound(columnType, java.nio.ByteBuffer.wrap(b)))

  private def nullsOf(delete: LiveDelete, id: Int): Presence = {
    val nulls = Option(delete.entry.nullCounts).flatMap(_.get(id))
    val values = Option(delete.entry.valueCounts).flatMap(_.get(id))
    nulls match {
      case None                     => Presence.Unknown
      case Some(0L)                 => Presence.None
      case count if count == values => Presence.All
      case _                        => Presence.Some
    }
  }

  private def areAllAndNone(some: Presence, others: Presence): Boolean =
    some == Presence.All && others == Presence.None

  private def mayHoldNull(presence: Presence): Boolean = presence != Presence.None

  private val types = mutable.HashMap.empty[Int, Option[ColumnType]]

  private def columnTypeOf(id: Int): Option[ColumnType] =
    types.getOrElseUpdate(
      id,
      schemas.iterator.flatMap(s => Option(s.findType(id))).nextOption().flatMap(IcebergValues.columnType))

  /** Whether a schema requires values of the column: as in Iceberg, its null counts then prove nothing. */
  private def isRequired(id: Int): Boolean = schemas.exists(s => Option(s.findField(id)).exists(_.isRequired))
}

private object DeleteMatcher {
  private val NoDeletes = new Array[DeleteFile](0)
  private val NoneOfPath = new Array[LiveDelete](0)

  /**
   * Whether bounds of this type cannot prove that values differ: NaN lies outside of bounds, and UUIDs have two
   * orders.
   */
  private def isUnordered(columnType: ColumnType): Boolean =
    columnType.mayHoldNaN || columnType == UuidType
}

/**
 * Makes Iceberg's own `DeleteFile`s from templates, as [[DataFileFactory]] makes data files.
 *
 * Position deletes retain only the bounds of their path column, as in stock planning. Not thread-safe.
 */
private[zonemap] final class DeleteFileFactory(templates: ContentFileTemplates) {
  import DeleteFileFactory._

  private val made = new IdentityHashMap[LiveDelete, DeleteFile]

  /** The `DeleteFile` of this delete, made once for all tasks that share it. */
  def deleteFile(delete: LiveDelete): DeleteFile = made.computeIfAbsent(delete, newDeleteFile)

  /** A new `DeleteFile` of this delete, not retained for other tasks. */
  def newDeleteFile(delete: LiveDelete): DeleteFile = {
    val entry = delete.entry
    val file = templates.deleteFile(delete.specId, delete.tuple)
    val fields = file.asInstanceOf[StructLike]
    def set[V <: AnyRef](position: Int, value: V): Unit = if (value != null) fields.set(position, value)
    set(Fields.Path, entry.path)
    if (entry.format != ContentFileTemplates.Format.name()) set(Fields.Format, entry.format)
    set(Fields.RecordCount, Long.box(entry.recordCount))
    set(Fields.FileSize, Long.box(entry.fileSizeBytes))
    setStats(delete, set)
    set(Fields.SplitOffsets, Option(entry.splitOffsets).map(_.map(Long.box).toSeq.asJava).orNull)
    if (!isPosition(delete)) {
      set(Fields.Content, Int.box(entry.content))
      set(Fields.EqualityIds, entry.equalityIds.map(Int.box).toSeq.asJava)
    }
    fields.set(Fields.SortOrderId, entry.sortOrderId)
    set(Fields.ReferencedDataFile, entry.referencedDataFile)
    set(Fields.ContentOffset, entry.contentOffset)
    set(Fields.ContentSize, entry.contentSizeBytes)
    SequenceNumbers.set(file, entry.dataSequenceNumber, entry.fileSequenceNumber)
    if (delete.manifest != null) ManifestLocations.set(file, delete.manifest)
    file
  }

  private def setStats(delete: LiveDelete, set: (Int, AnyRef) => Unit): Unit = {
    val entry = delete.entry
    val keep: Int => Boolean = if (isPosition(delete)) _ == PathId else entry.equalityIds.toSet
    def counts(all: Map[Int, Long]) = DeleteStats.toIcebergCounts(only(all, keep))
    def bounds(all: Map[Int, Array[Byte]]) = DeleteStats.toIcebergBounds(only(all, keep))
    set(Fields.ColumnSizes, counts(entry.columnSizes))
    set(Fields.ValueCounts, counts(entry.valueCounts))
    set(Fields.NullCounts, counts(entry.nullCounts))
    set(Fields.NanCounts, counts(entry.nanCounts))
    set(Fields.LowerBounds, bounds(entry.lowerBounds))
    set(Fields.UpperBounds, bounds(entry.upperBounds))
  }

  private def only[V](stats: Map[Int, V], keep: Int => Boolean): Map[Int, V] =
    if (stats == null) null else stats.filter { case (id, _) => keep(id) }
}

private object DeleteFileFactory {
  private val PathId: Int = MetadataColumns.DELETE_FILE_PATH.fieldId()

  private def isPosition(delete: LiveDelete): Boolean =
    delete.entry.content == FileContent.POSITION_DELETES.id()
}
