// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.snapshot

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Table

import zonemap.core.column.Bitmap
import zonemap.core.io.HeapBytes
import zonemap.iceberg.convert.PartitionTuples.TupleKey

/** The part of a delete segment that is live in one snapshot. */
private[zonemap] final class LiveDeleteSegment(
    val segment: KeyedDeletes,
    val origin: SegmentOrigin,
    val liveManifests: Array[Int]) {

  val count: Int = liveManifests.iterator.map(segment.manifests(_).rowCount).sum

  /** The bitmap of the live rows; null if all rows are live. */
  private val liveRows: Bitmap =
    if (liveManifests.distinct.length == segment.manifests.size) null
    else LiveRows.of(segment.rows, segment.manifests, liveManifests)

  /** The live rows among `rows` of the segment. */
  private[zonemap] def live(rows: Array[Int]): Array[Int] =
    if (liveRows == null || rows.isEmpty) rows else rows.filter(liveRows(_))

  private[snapshot] def compares(isSought: Int => Boolean): Boolean =
    segment.equalityFields.exists(isSought) && (0 until segment.rows).exists { row =>
      (liveRows == null || liveRows(row)) && segment.delete(row).comparedFields.exists(isSought)
    }

  /** The delete file of the last live row among `rows` of the segment. */
  private[zonemap] def last(rows: Array[Int]): Option[LiveDelete] = {
    val place = if (liveRows == null) rows.length - 1 else rows.lastIndexWhere(liveRows(_))
    Option.when(place >= 0)(segment.delete(rows(place)))
  }

  /** An estimate of the heap that this object uses, without the segment. */
  def heapBytes: Long = HeapBytes.instance(20) + HeapBytes.array(liveManifests.length, 4) +
    (if (liveRows == null) 0L else HeapBytes.bitmap(segment.rows))
}

/**
 * The live delete files of one snapshot, looked up the way the table spec applies them, see [[KeyedDeletes]]: by data
 * file, by partition, and equality deletes of unpartitioned specs for every file.
 *
 * Sequence numbers decide which of the delete files apply to a data file; every plan compares them, and the result is
 * never stored. Results are sorted by data sequence number. The delete files belong to the segments, which snapshots
 * share; a snapshot has no copies. Thread-safe.
 *
 * @param isUnpartitioned whether the spec with an id has no partition fields
 */
private[zonemap] final class SnapshotDeletes(
    val segments: IndexedSeq[LiveDeleteSegment],
    isUnpartitioned: Int => Boolean) {
  import SnapshotDeletes._

  /** The number of live delete files. */
  val count: Int = segments.iterator.map(_.count).sum

  val deleteManifests: Int = segments.iterator.map(_.liveManifests.length).sum

  private val withPaths = segments.filter(_.segment.hasPaths)

  def isEmpty: Boolean = count == 0

  /** An estimate of the heap that all segments use. */
  def residentBytes: Long = segments.iterator.map(_.segment.heapBytes).sum

  /** An estimate of the heap that this object uses, without the segments. */
  def ownBytes: Long =
    HeapBytes.instance(24) + HeapBytes.sequence(segments.size) + segments.iterator.map(_.heapBytes).sum

  /** Whether any delete file may refer to one data file only. */
  def hasPaths: Boolean = withPaths.nonEmpty

  /** Whether an equality delete compares a field with such an id. */
  def compares(isSought: Int => Boolean): Boolean = segments.exists(_.compares(isSought))

  /** The deletion vectors and position deletes that refer to one data file. */
  def ofPath(path: String): Array[LiveDelete] = found(withPaths)(_.rowsOfPath(path))

  /** The position deletes of a partition that do not refer to one data file only. */
  def positionsIn(key: TupleKey): Array[LiveDelete] = found(segments)(_.positionsIn(key))

  /** The equality deletes of a partition; empty for an unpartitioned spec, whose deletes are global. */
  def equalityIn(key: TupleKey): Array[LiveDelete] =
    if (isUnpartitioned(key.specId)) NoDeletes else found(segments)(_.equalityIn(key))

  /** The equality deletes of unpartitioned specs, which apply to the files of all partitions. */
  def equalityGlobal: Array[LiveDelete] = found(segments)(_.equalityOf(isUnpartitioned))

  /**
   * The greatest data sequence number of the deletes that apply to a partition and do not refer to one data file only;
   * -1 if there are none.
   */
  def newestIn(key: TupleKey): Long =
    segments.iterator
      .flatMap { live =>
        val equality = if (isUnpartitioned(key.specId)) Array.emptyIntArray else live.segment.equalityIn(key)
        live.last(live.segment.positionsIn(key)).iterator ++ live.last(equality)
      }
      .map(_.entry.dataSequenceNumber)
      .foldLeft(newestGlobal)(_ max _)

  private lazy val newestGlobal: Long =
    equalityGlobal.lastOption.fold(SnapshotDeletes.NoNumber)(_.entry.dataSequenceNumber)

  private def found(among: IndexedSeq[LiveDeleteSegment])(rows: KeyedDeletes => Array[Int]): Array[LiveDelete] = {
    var all = NoDeletes
    among.foreach { live =>
      val of = live.live(rows(live.segment))
      if (of.nonEmpty) {
        val deletes = of.map(live.segment.delete)
        all = if (all.isEmpty) deletes else all ++ deletes
      }
    }
    ordered(all)
  }

  private def ordered(deletes: Array[LiveDelete]): Array[LiveDelete] =
    if (isOrdered(deletes)) deletes else deletes.sortBy(_.entry.dataSequenceNumber)

  private def isOrdered(deletes: Array[LiveDelete]): Boolean = {
    var i = 1
    while (i < deletes.length && deletes(i - 1).entry.dataSequenceNumber <= deletes(i).entry.dataSequenceNumber) i += 1
    i >= deletes.length
  }
}

private[zonemap] object SnapshotDeletes {
  private val NoNumber = -1L
  private val NoDeletes = new Array[LiveDelete](0)

  /** Whether the spec with an id has no partition fields: its equality deletes apply to every file. */
  def unpartitioned(table: Table): Int => Boolean =
    table.specs().values().asScala.iterator.filter(_.isUnpartitioned).map(_.specId()).toSet
}
