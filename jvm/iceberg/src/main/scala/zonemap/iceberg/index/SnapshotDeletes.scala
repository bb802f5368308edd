package zonemap.iceberg.index

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.{FileContent, FileFormat, MetadataColumns, Table}

import zonemap.core.segment.{DeleteFileEntry, DeleteSegment}
import zonemap.iceberg.convert.PartitionTuples
import zonemap.iceberg.convert.PartitionTuples.TupleKey

/** A live delete file with the partition it belongs to. */
private[zonemap] final case class LiveDelete(entry: DeleteFileEntry, specId: Int, tuple: Array[AnyRef])

/** The part of a delete segment that is live in one snapshot. */
private[zonemap] final class LiveDeleteSegment(
    val segment: DeleteSegment,
    val origin: SegmentOrigin,
    val liveManifests: Array[Int])

/**
 * The live delete files of one snapshot, keyed the way the table spec applies them (spec, "Scan Planning"):
 * deletion vectors and file-scoped position deletes by data file, other position deletes and equality deletes by
 * partition, equality deletes of unpartitioned specs for every file.
 *
 * Which of them apply to a data file follows from sequence numbers and is computed for every plan, never stored.
 * Groups are sorted by the sequence number that decides. Thread-safe.
 *
 * @param isUnpartitioned whether the spec of that id has no partition fields
 */
private[zonemap] final class SnapshotDeletes(
    val segments: IndexedSeq[LiveDeleteSegment],
    isUnpartitioned: Int => Boolean) {

  val all: Array[LiveDelete] = segments.iterator.flatMap { live =>
    live.liveManifests.iterator.flatMap { ordinal =>
      val manifest = live.segment.manifests(ordinal)
      (manifest.firstRow until manifest.firstRow + manifest.rowCount).iterator.map { row =>
        val entry = live.segment.files(row)
        val partition = live.segment.partitions(entry.partition)
        LiveDelete(entry, partition.specId, partition.values)
      }
    }
  }.toArray

  val deleteManifests: Int = segments.iterator.map(_.liveManifests.length).sum

  def isEmpty: Boolean = all.isEmpty

  /** Delete files are held as objects; their encoded size stands for what they hold. */
  def residentBytes: Long = segments.iterator.map(_.origin.source.sizeBytes).sum

  lazy val vectorsByPath: Map[String, LiveDelete] = {
    val vectors = all.filter(isVector)
    val byPath = vectors.iterator.map(d => d.entry.referencedDataFile -> d).toMap
    require(
      byPath.size == vectors.length,
      "Cannot index the deletion vectors of the snapshot: a data file has more than one.")
    byPath
  }

  lazy val positionByPath: Map[String, Array[LiveDelete]] =
    grouped(all.iterator.filter(isPosition).flatMap(d => referencedPath(d.entry).map(_ -> d)))

  lazy val positionByPartition: Map[TupleKey, Array[LiveDelete]] =
    grouped(
      all.iterator
        .filter(d => isPosition(d) && referencedPath(d.entry).isEmpty)
        .map(d => PartitionTuples.key(d.specId, d.tuple) -> d))

  lazy val equalityGlobal: Array[LiveDelete] =
    all.filter(d => isEquality(d) && isUnpartitioned(d.specId)).sortBy(_.entry.dataSequenceNumber)

  lazy val equalityByPartition: Map[TupleKey, Array[LiveDelete]] =
    grouped(
      all.iterator
        .filter(d => isEquality(d) && !isUnpartitioned(d.specId))
        .map(d => PartitionTuples.key(d.specId, d.tuple) -> d))

  private def grouped[K](pairs: Iterator[(K, LiveDelete)]): Map[K, Array[LiveDelete]] = {
    val groups = mutable.HashMap.empty[K, mutable.ArrayBuffer[LiveDelete]]
    pairs.foreach { case (key, delete) => groups.getOrElseUpdate(key, mutable.ArrayBuffer.empty) += delete }
    groups.iterator.map { case (key, group) => key -> group.sortBy(_.entry.dataSequenceNumber).toArray }.toMap
  }

  private def isEquality(delete: LiveDelete): Boolean =
    delete.entry.content == FileContent.EQUALITY_DELETES.id()

  private def isVector(delete: LiveDelete): Boolean =
    !isEquality(delete) && delete.entry.format == FileFormat.PUFFIN.name()

  private def isPosition(delete: LiveDelete): Boolean = !isEquality(delete) && !isVector(delete)

  /** The one data file a position delete file is about: named, or proved by equal bounds of its path column. */
  private def referencedPath(entry: DeleteFileEntry): Option[String] =
    Option(entry.referencedDataFile).orElse {
      for {
        lower <- boundOf(entry.lowerBounds)
        upper <- boundOf(entry.upperBounds)
        if java.util.Arrays.equals(lower, upper)
      } yield new String(lower, "UTF-8")
    }

  private def boundOf(bounds: Map[Int, Array[Byte]]): Option[Array[Byte]] =
    Option(bounds).flatMap(_.get(SnapshotDeletes.PathFieldId))
}

private[zonemap] object SnapshotDeletes {

  /** Which spec ids of the table have no partition fields: their equality deletes apply to every file. */
  def unpartitioned(table: Table): Int => Boolean =
    table.specs().values().asScala.iterator.filter(_.isUnpartitioned).map(_.specId()).toSet

  private val PathFieldId: Int = MetadataColumns.DELETE_FILE_PATH.fieldId()
}
