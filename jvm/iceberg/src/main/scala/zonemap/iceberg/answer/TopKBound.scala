// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.answer

import scala.collection.mutable

import zonemap.core.column.BoundsColumn
import zonemap.core.eval.BestBounds
import zonemap.core.predicate.{ColumnRef, Compare, CompareOp, IsNull, Predicate, True}
import zonemap.core.value.{ColumnType, Presence, ZoneValue}
import zonemap.iceberg.snapshot.SnapshotIndex
import zonemap.iceberg.trust.{BoundsTrust, CompleteFiles}

/** A monotone function of one column by which a query sorts its rows. Used by one thread. */
private[zonemap] trait SortFunction {

  /**
   * Returns a predicate that is TRUE or unknown for each row whose result equals that of `value` or sorts before it.
   * `None` unless it is proven that the result of every value between `value` and `farthest` does.
   */
  def rowsUpTo(value: ZoneValue, farthest: ZoneValue): Option[Predicate]
}

/**
 * The first rows of a query's result, sorted by one column or by a monotone function of it.
 *
 * @param descending whether greater values of the column come first
 * @param nullsFirst whether nulls of the column come first
 * @param filter TRUE for a row only if the query's condition is TRUE
 * @param rows the number of needed rows, including the rows that OFFSET skips
 * @param known a value that as many rows of the query are proven to equal or to sort before, from other relations
 * @param function the function, if the query does not sort by the column itself
 */
private[zonemap] final case class TopK(
    column: ColumnRef,
    descending: Boolean,
    nullsFirst: Boolean,
    filter: Predicate,
    rows: Long,
    known: Option[ZoneValue] = None,
    function: Option[SortFunction] = None) {

  /** Whether the value `a` sorts before `b`. */
  def before(a: ZoneValue, b: ZoneValue): Boolean = if (descending) a.compare(b) > 0 else a.compare(b) < 0

  /** TRUE for rows whose value equals `value` or sorts before it, and for nulls if nulls sort first. */
  def rowsUpTo(value: ZoneValue): Predicate = {
    val within = Compare(column, if (descending) CompareOp.GtEq else CompareOp.LtEq, value)
    if (nullsFirst) Predicate.or(within, IsNull(column)) else within
  }
}

/**
 * A bound of the needed rows.
 *
 * @param value as many rows as are needed equal this value, or sort before it
 * @param kept the number of files that may hold a needed row
 * @param rows TRUE or unknown for each needed row
 */
private[zonemap] final case class TopKBound(value: ZoneValue, kept: Long)(val rows: Predicate)

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
    for {
      value <- valueOf(index, topK, trust)
      rows <- rowsUpTo(index, topK, value)
      kept = count(index, Predicate.and(topK.filter, rows), trust)
      if kept < count(index, topK.filter, trust)
    } yield TopKBound(value, kept)(rows)

  /** The best value that as many rows as are needed are proven to equal or to sort before. */
  def valueOf(index: SnapshotIndex, topK: TopK, trust: BoundsTrust): Option[ZoneValue] =
    Option
      .when(topK.rows > 0 && !nanMayComeFirst(index, topK, trust))(topK.known.orElse(lastTaken(index, topK, trust)))
      .flatten

  private def rowsUpTo(index: SnapshotIndex, topK: TopK, value: ZoneValue): Option[Predicate] =
    topK.function.fold(Option(topK.rowsUpTo(value))) { function =>
      farthest(index, topK).flatMap(function.rowsUpTo(value, _))
    }

  /** A value that no value of the files sorts before. `None` if the bounds of a file do not prove one. */
  private def farthest(index: SnapshotIndex, topK: TopK): Option[ZoneValue] = {
    val bounds = index.segments.map { live =>
      columnOf(live.segment.column(topK.column.fieldId), topK.column).flatMap { column =>
        Option(if (topK.descending) column.root.upper else column.root.lower)
      }
    }
    Option
      .when(bounds.forall(_.isDefined))(bounds.flatten)
      .flatMap(_.reduceOption((a, b) => if (topK.before(a, b)) a else b))
  }

  private def lastTaken(index: SnapshotIndex, topK: TopK, trust: BoundsTrust): Option[ZoneValue] = {
    val bestFirst: Ordering[Taken] = Ordering.fromLessThan((a, b) => topK.before(a.bound, b.bound))
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
