// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.answer

import scala.collection.mutable

import zonemap.core.column.BoundsColumn
import zonemap.core.eval.BestBounds
import zonemap.core.predicate.{ColumnRef, Compare, CompareOp, IsNull, Predicate, True}
import zonemap.core.value.{ColumnType, Presence, ZoneValue}
import zonemap.iceberg.snapshot.SnapshotIndex
import zonemap.iceberg.trust.{BoundsTrust, CompleteFiles}

/**
 * The first rows of a query's result, sorted by one column.
 *
 * @param filter TRUE for a row only if the query's condition is TRUE
 * @param rows the number of needed rows, including the rows that OFFSET skips
 */
private[zonemap] final case class TopK(
    column: ColumnRef,
    descending: Boolean,
    nullsFirst: Boolean,
    filter: Predicate,
    rows: Long) {

  /** TRUE for rows whose value equals `value` or sorts before it, and for nulls if nulls sort first. */
  def rowsUpTo(value: ZoneValue): Predicate = {
    val within = Compare(column, if (descending) CompareOp.GtEq else CompareOp.LtEq, value)
    if (nullsFirst) Predicate.or(within, IsNull(column)) else within
  }
}

/**
 * A bound of the needed rows.
 *
 * @param value every needed row is at least (descending) or at most this value, or sorts before all values
 * @param kept the number of files that may hold a needed row
 */
private[zonemap] final case class TopKBound(value: ZoneValue, kept: Long)

/**
 * Computes a bound of the first k rows by one column from the bounds of files (SOUNDNESS, S93 to S97).
 *
 * The bound of a file is its lower bound if the sort is descending, else its upper bound: no row of the file sorts
 * after it. Only files of which all rows are in the result are taken, in the order of their bounds, until they hold k
 * rows. At least k rows then sort no later than the last bound taken, so the k-th row of the result does not either.
 * One pass over the files, with a queue of the files taken so far; a file that does not enter the queue makes no
 * object.
 */
private[zonemap] object TopKBound {
  private final case class Taken(bound: ZoneValue, records: Long)

  /** None if the files prove no bound, or if the bound prunes no file. */
  def of(index: SnapshotIndex, topK: TopK, trust: BoundsTrust): Option[TopKBound] =
    Option
      .when(topK.rows > 0 && !nanMayComeFirst(index, topK, trust))(lastTaken(index, topK, trust))
      .flatten
      .flatMap { value =>
        val kept = count(index, Predicate.and(topK.filter, topK.rowsUpTo(value)), trust)
        Option.when(kept < count(index, topK.filter, trust))(TopKBound(value, kept))
      }

  private def lastTaken(index: SnapshotIndex, topK: TopK, trust: BoundsTrust): Option[ZoneValue] = {
    val bestFirst: Ordering[Taken] = Ordering.fromLessThan((a, b) => before(topK, a.bound, b.bound))
    // the head of the queue is the file with the worst bound taken so far
    val taken = mutable.PriorityQueue.empty[Taken](bestFirst)
    var rows = 0L
    val complete = new CompleteFiles(index, topK.filter, trust)
    for {
      live <- index.segments
      column <- columnOf(live.segment.column(topK.column.fieldId), topK.column)
    } {
      val bounds = new BestBounds(column, topK.descending, nullsCount = topK.nullsFirst)
      val records = complete.recordsOf(live.segment)
      val valid = trust.valid(live.segment, topK.column.fieldId, complete.allMatch(live.segment, live.liveRows()))
      foreach(valid.toArray, backwards = topK.descending) { row =>
        if (rows >= topK.rows) bounds.raise(taken.head.bound)
        val bound = bounds.better(row)
        val counted = if (bound == null) 0L else records(row)
        if (counted > 0) {
          taken.enqueue(Taken(bound, counted))
          rows += counted
          while (rows - taken.head.records >= topK.rows) rows -= taken.dequeue().records
        }
      }
    }
    Option.when(rows >= topK.rows)(taken.head.bound)
  }

  /** Whether the bound `a` sorts before `b`. */
  private def before(topK: TopK, a: ZoneValue, b: ZoneValue): Boolean =
    if (topK.descending) a.compare(b) > 0 else a.compare(b) < 0

  /**
   * Calls `use` for each row, in reverse for a descending sort: newer files are last in an index and often hold the
   * greatest values, so the queue fills up sooner.
   */
  private def foreach(rows: Array[Int], backwards: Boolean)(use: Int => Unit): Unit = {
    var i = 0
    while (i < rows.length) {
      use(rows(if (backwards) rows.length - 1 - i else i))
      i += 1
    }
  }

  /** The stored bounds of the column, if they have the order and encoding of the requested column. */
  private def columnOf(found: Option[BoundsColumn], sorted: ColumnRef): Option[BoundsColumn] =
    found.filter { column =>
      ColumnType.comparable(
        column.columnType,
        sorted.columnType) && column.columnType.encoding == sorted.columnType.encoding
    }

  /**
   * Whether NaN may sort first: NaN is greater than every value, and Iceberg's own evaluators ignore NaN in
   * comparisons (S96).
   */
  private def nanMayComeFirst(index: SnapshotIndex, topK: TopK, trust: BoundsTrust): Boolean =
    topK.descending && topK.column.columnType.mayHoldNaN &&
      !index.segments.forall { live =>
        live.segment.column(topK.column.fieldId).exists(_.root.nans == Presence.None) &&
        trust.areValid(live.segment, topK.column.fieldId, live.liveRows())
      }

  private def count(index: SnapshotIndex, filter: Predicate, trust: BoundsTrust): Long = {
    val condition = trust.condition(True, filter)
    index.segments.iterator
      .map(live => trust.mayMatch(live.segment, condition, live.liveRows()).cardinality.toLong)
      .sum
  }
}
