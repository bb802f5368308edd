// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.snapshot

import scala.collection.mutable

import org.apache.iceberg.{FileContent, FileFormat, MetadataColumns}

import zonemap.core.io.{ByteSource, HeapBytes}
import zonemap.core.segment.{DeleteFileEntry, DeleteSegment, ManifestsOfRows, PartitionTuple, SegmentManifest}
import zonemap.iceberg.convert.PartitionTuples
import zonemap.iceberg.convert.PartitionTuples.TupleKey

/** A delete file, the partition of its rows, and the location of the manifest that lists it; null if unknown. */
private[zonemap] final case class LiveDelete(
    entry: DeleteFileEntry,
    specId: Int,
    tuple: Array[AnyRef],
    manifest: String = null) {

  def isEquality: Boolean = entry.content == FileContent.EQUALITY_DELETES.id()

  /** The field ids that an equality delete compares; none for other deletes. */
  def comparedFields: Array[Int] =
    if (isEquality && entry.equalityIds != null) entry.equalityIds else Array.emptyIntArray

  /** Whether this is a deletion vector. */
  def isVector: Boolean = !isEquality && entry.format == FileFormat.PUFFIN.name()

  /**
   * The bound that proves which data file this position-delete file refers to, if the manifest does not name the data
   * file; null otherwise.
   */
  private[snapshot] def provingBound: Array[Byte] =
    if (entry.referencedDataFile != null) null else pathBound(entry.lowerBounds).orNull

  /**
   * The only data file that a position-delete file refers to: the manifest names it, or equal bounds of the path column
   * prove it.
   */
  private[zonemap] def dataFile: Option[String] =
    if (isEquality) None
    else
      Option(entry.referencedDataFile).orElse {
        for {
          lower <- pathBound(entry.lowerBounds)
          upper <- pathBound(entry.upperBounds)
          if java.util.Arrays.equals(lower, upper)
        } yield new String(lower, "UTF-8")
      }

  private def pathBound(bounds: Map[Int, Array[Byte]]): Option[Array[Byte]] =
    Option(bounds).flatMap(_.get(KeyedDeletes.PathFieldId))
}

/**
 * The delete files of one segment, keyed the way the table spec applies them (spec, "Scan Planning"): deletion vectors
 * and file-scoped position deletes by data file, other position deletes and equality deletes by partition. All
 * snapshots that list manifests of the segment share one instance; [[LiveDeleteSegment]] decides which rows are live in
 * a snapshot. Immutable, thread-safe.
 */
private[zonemap] final class KeyedDeletes private (stored: DeleteSegment) {
  import KeyedDeletes._

  def manifests: IndexedSeq[SegmentManifest] = stored.manifests
  def partitions: IndexedSeq[PartitionTuple] = stored.partitions
  def files: IndexedSeq[DeleteFileEntry] = stored.files
  def rows: Int = stored.rows

  private val deletes: Array[LiveDelete] = {
    val listing = new ManifestsOfRows(stored.manifests)
    stored.files.iterator.zipWithIndex.map { case (entry, row) =>
      val partition = stored.partitions(entry.partition)
      LiveDelete(entry, partition.specId, partition.values, listing.locationOf(row))
    }.toArray
  }

  private val keys: IndexedSeq[TupleKey] = stored.partitions.map(p => PartitionTuples.key(p.specId, p.values))
  private val paths: PathRows = new PathRows(deletes)

  private val positions: Map[TupleKey, Array[Int]] =
    byPartition(row => !deletes(row).isEquality && !deletes(row).isVector && deletes(row).dataFile.isEmpty)

  private val equality: Map[TupleKey, Array[Int]] = byPartition(deletes(_).isEquality)
  private val equalityBySpec: Map[Int, Iterable[Array[Int]]] = equality.groupMap(_._1.specId)(_._2)

  def delete(row: Int): LiveDelete = deletes(row)

  /** The field ids that equality deletes compare. */
  val equalityFields: Set[Int] = deletes.iterator.flatMap(_.comparedFields).toSet

  /** Whether any delete file refers to one data file only. */
  def hasPaths: Boolean = !paths.isEmpty

  /** The rows of the deletion vectors and position deletes that refer to one data file, by row. */
  def rowsOfPath(path: String): Array[Int] = paths.of(path)

  /**
   * The rows of the position deletes of a partition that do not refer to one data file only, by data sequence number.
   */
  def positionsIn(key: TupleKey): Array[Int] = positions.getOrElse(key, NoRows)

  /** The rows of equality deletes of a partition, by data sequence number. */
  def equalityIn(key: TupleKey): Array[Int] = equality.getOrElse(key, NoRows)

  /** The rows of the equality deletes of all specs that satisfy `specs`, unordered. */
  def equalityOf(specs: Int => Boolean): Array[Int] =
    equalityBySpec.iterator.filter { case (spec, _) => specs(spec) }.flatMap(_._2).flatten.toArray

  /** An estimate of the heap that this object and its segment use. */
  val heapBytes: Long = stored.heapBytes + HeapBytes.instance(40) + HeapBytes.array(rows, HeapBytes.Reference) +
    rows * HeapBytes.instance(16) + paths.heapBytes + HeapBytes.sequence(keys.size) + keys.size * KeyBytes +
    Seq(positions, equality).map(groupBytes).sum + HeapBytes.hashMap(equality.size)

  private def groupBytes(groups: Map[TupleKey, Array[Int]]): Long =
    HeapBytes.hashMap(groups.size) + groups.valuesIterator.map(rows => HeapBytes.array(rows.length, 4)).sum

  private def byPartition(isMember: Int => Boolean): Map[TupleKey, Array[Int]] = {
    val groups = mutable.HashMap.empty[TupleKey, mutable.ArrayBuilder[Int]]
    deletes.indices.iterator.filter(isMember).foreach { row =>
      groups.getOrElseUpdate(keys(deletes(row).entry.partition), Array.newBuilder[Int]) += row
    }
    groups.iterator.map { case (key, group) => key -> ordered(group.result()) }.toMap
  }

  private def ordered(rows: Array[Int]): Array[Int] = {
    def number(row: Int) = deletes(row).entry.dataSequenceNumber
    if ((1 until rows.length).forall(i => number(rows(i - 1)) <= number(rows(i)))) rows else rows.sortBy(number)
  }
}

private[zonemap] object KeyedDeletes {

  /** Reads the whole segment; throws CorruptIndexException if it is damaged. */
  def open(source: ByteSource): KeyedDeletes = new KeyedDeletes(DeleteSegment.open(source, usedStats))

  private[zonemap] val PathFieldId: Int = MetadataColumns.DELETE_FILE_PATH.fieldId()
  private val NoRows = new Array[Int](0)

  /** The heap of a key, its vector and the numbers in it. */
  private val KeyBytes = 100L

  /**
   * The statistics that planning reads: the path bounds of position deletes, and the columns that equality deletes
   * compare.
   */
  private def usedStats: DeleteSegment.KeptStats = (content, equalityIds) =>
    if (content == FileContent.EQUALITY_DELETES.id() && equalityIds != null) equalityIds.contains(_)
    else _ == PathFieldId
}
