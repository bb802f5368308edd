// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.layout

import zonemap.core.predicate.{ColumnRef, ValueRanges}
import zonemap.core.value.{DateType, ZoneValue}
import zonemap.iceberg.prune.FileSet

/**
 * Estimates how many files a condition on one column would keep if each partition was sorted by this column into as many
 * files as it has now, or into files of another size.
 *
 * The estimate uses the bounds and the numbers of rows of the files, and reads no row. It takes the rows of a file to be
 * spread evenly between its bounds, and the rows of the table to be spread evenly over the different values; of these
 * there are at least as many as the bounds show, and each day between the bounds of a date occurs. If values are very
 * uneven, the estimate is too low for the frequent ones.
 */
private[zonemap] final class SortEstimate private (files: FileSet, column: ColumnRef, fileBytes: Option[Long]) {
  import SortEstimate._

  private lazy val found = BoundedFiles.read(files, Seq(column))
  private lazy val different = ends.toSet.size
  private lazy val scale = ValueScale.of(column.columnType, ends)
  private lazy val groups = found.groupBy(_.partition).values.map(new Group(_)).toSeq
  private lazy val isTooWide = found.nonEmpty && !scale.knowsWidth(ends.min, ends.max)
  private val isDense = column.columnType == DateType

  private def ends: Iterator[ZoneValue] = found.iterator.flatMap(f => Iterator(f.lowers(0), f.uppers(0)))

  /**
   * @param ranges the values for which the condition is TRUE
   * @return the number of files, or the reason why the bounds allow no estimate
   */
  def of(ranges: ValueRanges): Either[String, Long] =
    if (files.count * ranges.size > MostWork)
      Left(s"the condition on ${column.name} has too many values for an estimate over ${files.count} files")
    else if (found.size < files.count) Left(withoutBounds(files.count - found.size, column))
    else if (!isDense && different < needed(found.size, ranges)) Left(fewValues(different, column))
    else if (isTooWide) Left(tooWide(column))
    else Right(groups.iterator.map(_.kept(ranges)).sum)

  /** The files of one partition. A sort puts the rows of each range into files next to each other. */
  private final class Group(files: IndexedSeq[BoundedFile]) {
    private val lower = files.iterator.map(_.lowers(0)).min
    private val upper = files.iterator.map(_.uppers(0)).max
    private val sorted = BoundedFiles.count(files, fileBytes)
    private val rowsOfFile = files.iterator.map(_.rows).sum / sorted
    private val starts = files.iterator.map(f => scale.placeOf(f.lowers(0))).toArray
    private val stops = files.iterator.map(f => scale.placeOf(f.uppers(0)) + scale.unit).toArray

    def kept(ranges: ValueRanges): Long = {
      val wanted = ranges.intersect(ValueRanges.closed(lower, upper))
      if (wanted.isEmpty || !meetsSome(wanted)) 0L
      else {
        val points = wanted.iterator.count(_.isPoint)
        val values = if (isDense) scale.width(lower, upper).max(different.toDouble) else different.toDouble
        val ofPoints = points * rowsOfFile * sorted / values.max(points.toDouble)
        val filled = Math.max(matching(wanted), ofPoints) / rowsOfFile
        Math.min(sorted.toDouble, filled + touched(wanted)).round.max(1L)
      }
    }

    private def meetsSome(wanted: ValueRanges): Boolean =
      files.exists(f => wanted.intersects(f.lowers(0), f.uppers(0)))

    /** The rows that are estimated to match. A range strictly between the bounds of a file needs no comparison of values. */
    private def matching(wanted: ValueRanges): Double = {
      val (first, last) = (placeOf(wanted(0).from, lower), placeOf(wanted(wanted.size - 1).until, upper))
      val isSingle = wanted.size == 1
      var (rows, i) = (0.0, 0)
      while (i < files.length) {
        val file = files(i)
        if (isSingle && starts(i) < first && last < stops(i))
          rows += file.rows * ((last - first) / (stops(i) - starts(i)))
        else if (starts(i) <= last && first <= stops(i))
          rows += file.rows * scale.share(wanted, file.lowers(0), file.uppers(0))
        i += 1
      }
      rows
    }

    private def placeOf(end: ZoneValue, outer: ZoneValue): Double =
      if (end == null) scale.placeOf(outer) + scale.unit else scale.placeOf(end)

    /**
     * The files that the ranges reach into besides those that they fill. An inner range begins and ends within files,
     * which is one more file on average; many ranges share files.
     */
    private def touched(wanted: ValueRanges): Double = {
      val ends = wanted.iterator.map(r => inner(r.from, lower) + inner(r.until, ValueRanges.successor(upper))).sum / 2.0
      sorted * (1 - Math.exp(-ends / sorted))
    }

    private def inner(end: ZoneValue, outer: ZoneValue): Int =
      if (end == null || outer == null || end == outer) 0 else 1
  }
}

private[zonemap] object SortEstimate {

  /** Fewer different values in the bounds than this leave unknown how rows are spread over ranges of values. */
  private val FewValues = 16

  /** The largest number of comparisons of a file with a range. */
  private val MostWork = 50L * 1000 * 1000

  /**
   * The estimates for conditions on one column; the bounds of the files are read once, for the first of them.
   *
   * @param fileBytes the size of the sorted files; `None`: each partition has as many files as now
   */
  def over(files: FileSet, column: ColumnRef, fileBytes: Option[Long] = None): SortEstimate =
    new SortEstimate(files, column, fileBytes)

  /** The estimate for one condition. */
  def of(files: FileSet, column: ColumnRef, ranges: ValueRanges): Either[String, Long] = over(files, column).of(ranges)

  private[layout] def withoutBounds(files: Long, column: ColumnRef): String =
    s"$files files have no bounds of ${column.name}"

  private[layout] def tooWide(column: ColumnRef): String =
    s"the bounds of ${column.name} are too far apart to know the share of a range, as with infinity"

  private[layout] def fewValues(different: Int, column: ColumnRef): String =
    s"the bounds of ${column.name} show only $different different values, so the number of rows of a value is unknown"

  /** Of a column with fewer values than half the files, a single value may have the rows of several files. */
  private def needed(files: Int, ranges: ValueRanges): Int = {
    val ofValues = files / 2 + 1
    if (ranges.iterator.exists(_.isPoint)) ofValues else Math.min(FewValues, ofValues)
  }
}
