package zonemap.iceberg.plan

import scala.collection.mutable

import zonemap.core.eval.BestBounds
import zonemap.core.predicate.{ColumnRef, Compare, CompareOp, IsNull, Predicate, True}
import zonemap.core.segment.BoundsColumn
import zonemap.core.value.{ColumnType, Presence, ZoneValue}
import zonemap.iceberg.index.SnapshotIndex

/**
 * The first rows of a result by one column.
 *
 * @param filter TRUE for a row only if the query's condition is
 * @param rows how many rows are wanted, those skipped by OFFSET among them
 */
private[zonemap] final case class TopK(
    column: ColumnRef,
    descending: Boolean,
    nullsFirst: Boolean,
    filter: Predicate,
    rows: Long) {

  /** TRUE for the rows whose value is not beyond `value`, and for those that sort before all values. */
  def rowsUpTo(value: ZoneValue): Predicate = {
    val within = Compare(column, if (descending) CompareOp.GtEq else CompareOp.LtEq, value)
    if (nullsFirst) Predicate.or(within, IsNull(column)) else within
  }
}

/**
 * @param value every wanted row is at least (descending) or at most this, or sorts before all values
 * @param kept files that may hold a wanted row
 */
private[zonemap] final case class TopKBound(value: ZoneValue, kept: Long)

/**
 * A bound of the first k rows by one column, from the bounds of files (SOUNDNESS, S49 to S53).
 *
 * Files all of whose rows are in the result are taken best bound first until they hold k rows: the k-th row is then no
 * worse than the last bound taken. One pass over the files, with a queue of those taken so far; a file that does not
 * get into the queue makes no object.
 */
private[zonemap] object TopKBound {
  private final case class Taken(bound: ZoneValue, records: Long)

  /** None when the files do not say enough, or when no file would fall out by the bound. */
  def of(index: SnapshotIndex, asked: TopK, trust: BoundsTrust): Option[TopKBound] =
    Option
      .when(asked.rows > 0 && !nanMayComeFirst(index, asked, trust))(lastTaken(index, asked, trust))
      .flatten
      .flatMap { value =>
        val kept = count(index, Predicate.and(asked.filter, asked.rowsUpTo(value)), trust)
        Option.when(kept < count(index, asked.filter, trust))(TopKBound(value, kept))
      }

  private def lastTaken(index: SnapshotIndex, asked: TopK, trust: BoundsTrust): Option[ZoneValue] = {
    val bestFirst: Ordering[Taken] = Ordering.fromLessThan((a, b) => before(asked, a.bound, b.bound))
    // the worst of those taken is on top
    val taken = mutable.PriorityQueue.empty[Taken](bestFirst)
    var rows = 0L
    val complete = new CompleteFiles(index, asked.filter, trust)
    for {
      live <- index.segments
      column <- columnOf(live.segment.column(asked.column.fieldId), asked.column)
    } {
      val bounds = new BestBounds(column, asked.descending, nullsCount = asked.nullsFirst)
      val records = complete.recordsOf(live)
      val valid = trust.valid(live.segment, asked.column.fieldId, complete.allMatch(live, live.liveRows()))
      foreach(valid.toArray, backwards = asked.descending) { row =>
        if (rows >= asked.rows) bounds.raise(taken.head.bound)
        val bound = bounds.better(row)
        val counted = if (bound == null) 0L else records(row)
        if (counted > 0) {
          taken.enqueue(Taken(bound, counted))
          rows += counted
          while (rows - taken.head.records >= asked.rows) rows -= taken.dequeue().records
        }
      }
    }
    Option.when(rows >= asked.rows)(taken.head.bound)
  }

  /** Whether the bound `a` is better than `b`. */
  private def before(asked: TopK, a: ZoneValue, b: ZoneValue): Boolean =
    if (asked.descending) a.compare(b) > 0 else a.compare(b) < 0

  /** Newer files come last in an index, and often hold what is greatest: from there the queue fills up soonest. */
  private def foreach(rows: Array[Int], backwards: Boolean)(use: Int => Unit): Unit = {
    var i = 0
    while (i < rows.length) {
      use(rows(if (backwards) rows.length - 1 - i else i))
      i += 1
    }
  }

  /** The bounds of the column where they are of its order and encoding. */
  private def columnOf(found: Option[BoundsColumn], asked: ColumnRef): Option[BoundsColumn] =
    found.filter { column =>
      ColumnType.comparable(
        column.columnType,
        asked.columnType) && column.columnType.encoding == asked.columnType.encoding
    }

  /** NaN is greater than every value, and Iceberg's own evaluators forget it in comparisons: S52. */
  private def nanMayComeFirst(index: SnapshotIndex, asked: TopK, trust: BoundsTrust): Boolean =
    asked.descending && asked.column.columnType.mayHoldNaN &&
      !index.segments.forall { live =>
        live.segment.column(asked.column.fieldId).exists(_.root.nans == Presence.None) &&
        trust.areValid(live.segment, asked.column.fieldId, live.liveRows())
      }

  private def count(index: SnapshotIndex, filter: Predicate, trust: BoundsTrust): Long = {
    val condition = trust.condition(True, filter)
    index.segments.iterator
      .map(live => trust.mayMatch(live.segment, condition, live.liveRows()).cardinality.toLong)
      .sum
  }
}
