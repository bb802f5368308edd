// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.prune

import scala.collection.mutable

import zonemap.core.column.Bitmap
import zonemap.core.predicate.Predicate
import zonemap.iceberg.snapshot.SnapshotIndex
import zonemap.iceberg.trust.{BoundsTrust, CompleteFiles}

/**
 * The number of arbitrary rows of a scan that a query needs.
 *
 * @param rows the number of needed rows, including the rows that OFFSET skips
 * @param filter TRUE for a row only if the query's whole condition is TRUE
 */
private[zonemap] final case class LimitCut(rows: Long, filter: Predicate) {

  /** Equal for two cuts only if they select the same files from the same candidates. */
  def canonical: String = s"(limit $rows ${Predicate.canonical(filter)})"
}

/** Selects the fewest files that provably hold the needed rows (SOUNDNESS, S98). */
private[zonemap] object LimitCut {
  private final case class Taken(segment: Int, row: Int, records: Long)

  /**
   * The largest files of `candidates` (one bitmap for each segment of `index`) that together hold the needed rows.
   * None if all files with a known number of live rows hold fewer. One pass, with a queue of the files taken so far.
   */
  def files(
      index: SnapshotIndex,
      candidates: IndexedSeq[Bitmap],
      cut: LimitCut,
      trust: BoundsTrust): Option[IndexedSeq[Bitmap]] = {
    // the head of the queue is the smallest file taken so far; of equal files, the last one
    val largestFirst: Ordering[Taken] = Ordering.by((t: Taken) => (-t.records, t.segment, t.row))
    val taken = mutable.PriorityQueue.empty[Taken](largestFirst)
    var rows = 0L
    val complete = new CompleteFiles(index, cut.filter, trust)
    for (segment <- index.segments.indices) {
      val live = index.segments(segment)
      val records = complete.recordsOf(live.segment)
      complete.allMatch(live.segment, candidates(segment)).forEach { row =>
        val enough = rows >= cut.rows
        if (!enough || live.segment.recordCount(row) > taken.head.records) {
          val counted = records(row)
          if (counted > 0) {
            taken.enqueue(Taken(segment, row, counted))
            rows += counted
            while (rows - taken.head.records >= cut.rows) rows -= taken.dequeue().records
          }
        }
      }
    }
    Option.when(cut.rows > 0 && rows >= cut.rows) {
      val chosen = index.segments.map(live => Bitmap.empty(live.segment.rows))
      taken.foreach(t => chosen(t.segment).set(t.row))
      chosen
    }
  }

  /** Whether a part of a snapshot's live files provably holds the needed rows. */
  def isWorthwhile(index: SnapshotIndex, cut: LimitCut, trust: BoundsTrust): Boolean =
    files(index, index.segments.map(_.liveRows()), cut, trust)
      .exists(_.iterator.map(_.cardinality.toLong).sum < index.dataFiles)
}
