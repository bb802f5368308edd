// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.layout

import java.util.Comparator

import scala.collection.mutable

import zonemap.core.column.{Bitmap, BoundsColumn}
import zonemap.core.predicate.ColumnRef
import zonemap.core.segment.Segment
import zonemap.core.value.{Encoding, LongValue, Presence, ZoneValue}
import zonemap.iceberg.prune.FileSet

/**
 * The intervals of values of some columns in files, from the bounds of the files. With several columns, a value is the
 * list of the columns' values, and lists compare column by column. Nulls and NaN are in no interval.
 *
 * @param files the number of files
 * @param constant the files that are known to hold one value of each column, and no null and no NaN
 * @param withoutBounds the files of which a column has no bounds that describe its rows; they have no interval
 * @param onlyNulls the files with bounds of each column in which some column holds only nulls; they have no interval
 * @param overlaps the overlaps of the other files
 */
private[zonemap] final case class FileIntervals(
    files: Long,
    constant: Long,
    withoutBounds: Long,
    onlyNulls: Long,
    overlaps: Overlaps)

private[zonemap] object FileIntervals {

  /** Reads the bounds of each file once. O(files * log(files)) time, and O(files) memory on the driver. */
  def of(files: FileSet, columns: Seq[ColumnRef]): FileIntervals = {
    val ends = columns.map { column =>
      if (column.columnType.encoding == Encoding.Longs) new LongEnds else new ValueEnds
    }
    val count = new Counts(ends)
    files.foreachSegment { (segment, rows) =>
      val readers = columns.map(new Reader(files, segment, rows, _))
      rows.forEach(row => count.add(readers.map(_.read(row))))
    }
    val ranked = ends.map(_.ranked).reduceLeft(_.refinedBy(_))
    FileIntervals(files.count, count.constant, count.withoutBounds, count.onlyNulls, Overlaps.of(ranked))
  }

  /** Counts the files that have no bounds of a column which describe their rows. O(files) time. */
  def withoutBounds(files: FileSet, column: ColumnRef): Long = {
    var count = 0L
    files.foreachSegment { (segment, rows) =>
      val reader = new Reader(files, segment, rows, column)
      rows.forEach(row => if (reader.read(row) == Absent) count += 1)
    }
    count
  }

  /** The bounds of one column of one file. */
  private sealed trait Interval
  private case object Absent extends Interval
  private case object OnlyNulls extends Interval
  private final case class Between(lower: ZoneValue, upper: ZoneValue, isConstant: Boolean) extends Interval

  private final class Reader(files: FileSet, segment: Segment, rows: Bitmap, column: ColumnRef) {
    private val stored: Option[BoundsColumn] = if (rows.isEmpty) None else segment.column(column.fieldId)
    private val isValid = files.trust.isValid(segment, column.fieldId)

    def read(row: Int): Interval = stored.filter(_ => isValid(row)).fold[Interval](Absent)(read(_, row))

    private def read(bounds: BoundsColumn, row: Int): Interval =
      if (bounds.nulls(row) == Presence.All) OnlyNulls
      else {
        val (lower, upper) = (bounds.lower(row), bounds.upper(row))
        if (lower == null || upper == null || lower.compare(upper) > 0) Absent
        else {
          val both = for (l <- encoded(lower, bounds); u <- encoded(upper, bounds)) yield (l, u)
          both.fold[Interval](Absent) { case (l, u) => Between(l, u, l == u && isConstant(bounds, row)) }
        }
      }

    private def isConstant(bounds: BoundsColumn, row: Int): Boolean =
      bounds.tight(row) && bounds.nulls(row) == Presence.None &&
        (!bounds.columnType.mayHoldNaN || bounds.nans(row) == Presence.None)

    private def encoded(value: ZoneValue, bounds: BoundsColumn): Option[ZoneValue] =
      column.columnType.reencode(value, bounds.columnType)
  }

  private final class Counts(ends: Seq[Ends]) {
    var constant = 0L
    var withoutBounds = 0L
    var onlyNulls = 0L

    def add(intervals: Seq[Interval]): Unit =
      if (intervals.contains(Absent)) withoutBounds += 1
      else if (intervals.contains(OnlyNulls)) onlyNulls += 1
      else {
        val found = intervals.collect { case between: Between => between }
        if (found.forall(_.isConstant)) constant += 1
        ends.lazyZip(found).foreach((column, interval) => column.add(interval.lower, interval.upper))
      }
  }

  /** Collects the ends of the intervals of one column. */
  private sealed trait Ends {
    def add(lower: ZoneValue, upper: ZoneValue): Unit
    def ranked: RankedIntervals
  }

  private final class LongEnds extends Ends {
    private val (lowers, uppers) = (new mutable.ArrayBuilder.ofLong, new mutable.ArrayBuilder.ofLong)

    override def add(lower: ZoneValue, upper: ZoneValue): Unit = {
      lowers += longOf(lower)
      uppers += longOf(upper)
    }

    override def ranked: RankedIntervals = RankedIntervals.ofLongs(lowers.result(), uppers.result())

    private def longOf(value: ZoneValue): Long =
      value match {
        case LongValue(v) => v
        case other        => throw new IllegalStateException(s"$other among longs")
      }
  }

  private final class ValueEnds extends Ends {
    private val lowers = mutable.ArrayBuffer.empty[ZoneValue]
    private val uppers = mutable.ArrayBuffer.empty[ZoneValue]

    override def add(lower: ZoneValue, upper: ZoneValue): Unit = {
      lowers += lower
      uppers += upper
    }

    override def ranked: RankedIntervals = RankedIntervals.of(lowers.toArray, uppers.toArray, ByValue)
  }

  private object ByValue extends Comparator[ZoneValue] {
    override def compare(left: ZoneValue, right: ZoneValue): Int = left.compare(right)
  }
}
