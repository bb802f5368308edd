package zonemap.iceberg.plan

import scala.collection.mutable

import org.apache.iceberg.{DataFile, DeleteFile, Schema}

import zonemap.core.segment.{BoundsColumn, Segment}
import zonemap.core.value.{ColumnType, Presence, UuidType, ZoneValue}
import zonemap.iceberg.convert.{IcebergValues, PartitionTuples}
import zonemap.iceberg.index.{LiveDelete, SnapshotDeletes}

/**
 * The delete files that apply to a data file, by the rules of the table spec.
 *
 * A position delete applies when its data sequence number is at least the data file's, an equality delete when it is
 * greater; a deletion vector replaces all position deletes of its file. An equality delete file is left out only when
 * its bounds or null counts prove that it deletes no value the data file holds, as Iceberg does; unlike Iceberg, none
 * is left out for the scan's filter, and none on float or double bounds, which do not tell of NaN. So the answer is a
 * superset of Iceberg's by equality deletes that change nothing.
 *
 * Not thread-safe; one instance a plan.
 */
private[zonemap] final class DeleteMatcher(
    deletes: SnapshotDeletes,
    templates: ContentFileTemplates,
    schemas: Iterable[Schema]) {
  private val files = new DeleteFileFactory(templates)
  private val None0 = new Array[DeleteFile](0)

  /** The delete files for `file`, which is `row` of `segment`. */
  def deletesFor(segment: Segment, row: Int, file: DataFile): Array[DeleteFile] =
    if (deletes.isEmpty) None0
    else {
      val sequence = file.dataSequenceNumber().longValue
      val partition = segment.partitions(segment.partitionOrdinal(row))
      lazy val key = PartitionTuples.key(partition.specId, partition.values)
      val found = mutable.ArrayBuffer.empty[LiveDelete]
      found ++= after(deletes.equalityGlobal, sequence + 1).filter(mayDelete(_, segment, row))
      if (deletes.equalityByPartition.nonEmpty)
        deletes.equalityByPartition.get(key).foreach { group =>
          found ++= after(group, sequence + 1).filter(mayDelete(_, segment, row))
        }
      deletes.vectorsByPath.get(file.location()) match {
        case Some(vector) => found += applying(vector, sequence)
        case None =>
          if (deletes.positionByPartition.nonEmpty)
            deletes.positionByPartition.get(key).foreach(found ++= after(_, sequence))
          deletes.positionByPath.get(file.location()).foreach(found ++= after(_, sequence))
      }
      if (found.isEmpty) None0 else found.iterator.map(files.deleteFile).toArray
    }

  private def applying(vector: LiveDelete, sequence: Long): LiveDelete = {
    require(
      vector.entry.dataSequenceNumber >= sequence,
      s"Cannot apply a deletion vector of sequence number ${vector.entry.dataSequenceNumber} to a data file of $sequence."
    )
    vector
  }

  /** The deletes of a sorted group whose data sequence number is at least `sequence`. */
  private def after(group: Array[LiveDelete], sequence: Long): Iterator[LiveDelete] = {
    var low = 0
    var high = group.length
    while (low < high) {
      val middle = (low + high) >>> 1
      if (group(middle).entry.dataSequenceNumber < sequence) low = middle + 1 else high = middle
    }
    group.iterator.drop(low)
  }

  private def mayDelete(delete: LiveDelete, segment: Segment, row: Int): Boolean =
    delete.entry.equalityIds.forall(id => mayShareValue(id, delete, segment, row))

  private def mayShareValue(id: Int, delete: LiveDelete, segment: Segment, row: Int): Boolean =
    (columnTypeOf(id), segment.column(id)) match {
      case (Some(columnType), Some(column)) =>
        val deletesNull = nullsOf(delete, id)
        val dataNulls = column.nulls(row)
        if (mayHoldNull(dataNulls) && mayHoldNull(deletesNull)) true
        else if (dataNulls == Presence.All && deletesNull == Presence.None) false
        else if (deletesNull == Presence.All && dataNulls == Presence.None) false
        else rangesMayMeet(id, columnType, delete, column, row)
      case _ => true
    }

  private def rangesMayMeet(
      id: Int,
      columnType: ColumnType,
      delete: LiveDelete,
      column: BoundsColumn,
      row: Int): Boolean =
    if (DeleteMatcher.isUnordered(columnType) || column.columnType != columnType) true
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

  private def mayHoldNull(presence: Presence): Boolean = presence != Presence.None

  private val types = mutable.HashMap.empty[Int, Option[ColumnType]]

  private def columnTypeOf(id: Int): Option[ColumnType] =
    types.getOrElseUpdate(
      id,
      schemas.iterator.flatMap(s => Option(s.findType(id))).nextOption().flatMap(IcebergValues.columnType))
}

private object DeleteMatcher {

  /** Bounds of these types do not say which values may be equal: NaN stands outside, UUIDs have two orders. */
  private def isUnordered(columnType: ColumnType): Boolean =
    columnType.mayHoldNaN || columnType == UuidType
}
