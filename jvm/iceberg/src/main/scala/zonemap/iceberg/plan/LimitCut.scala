package zonemap.iceberg.plan

import scala.collection.mutable

import zonemap.core.eval.Bitmap
import zonemap.core.predicate.Predicate
import zonemap.iceberg.index.SnapshotIndex

/**
 * A query that wants no more than some rows of a scan, and does not care which.
 *
 * @param rows how many it wants, those skipped by OFFSET among them
 * @param filter TRUE for a row only if the query's whole condition is
 */
private[zonemap] final case class LimitCut(rows: Long, filter: Predicate) {

  /** Equal for two cuts only if they take the same files of the same ones. */
  def canonical: String = s"(limit $rows ${Predicate.canonical(filter)})"
}

/** The fewest files that are sure to hold the rows wanted (SOUNDNESS, S54). */
private[zonemap] object LimitCut {
  private final case class Taken(segment: Int, row: Int, records: Long)

  /**
   * The largest files of `candidates` (of each segment of `index`) that together hold the wanted rows; None if those that
   * can be counted do not. One pass, with a queue of the files taken so far.
   */
  def files(
      index: SnapshotIndex,
      candidates: IndexedSeq[Bitmap],
      cut: LimitCut,
      trust: BoundsTrust): Option[IndexedSeq[Bitmap]] = {
    // the smallest of those taken is on top, of equals the last
    val largestFirst: Ordering[Taken] = Ordering.by((t: Taken) => (-t.records, t.segment, t.row))
    val taken = mutable.PriorityQueue.empty[Taken](largestFirst)
    var rows = 0L
    val complete = new CompleteFiles(index, cut.filter, trust)
    for (segment <- index.segments.indices) {
      val live = index.segments(segment)
      val records = complete.recordsOf(live)
      complete.allMatch(live, candidates(segment)).forEach { row =>
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

  /** Whether the live files of a snapshot hold the wanted rows, and fewer than all of them do. */
  def isWorthwhile(index: SnapshotIndex, cut: LimitCut, trust: BoundsTrust): Boolean =
    files(index, index.segments.map(_.liveRows()), cut, trust)
      .exists(_.iterator.map(_.cardinality.toLong).sum < index.dataFiles)
}
