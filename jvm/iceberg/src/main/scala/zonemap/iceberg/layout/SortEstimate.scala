package zonemap.iceberg.layout

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
private[zonemap] object SortEstimate {

  /** Fewer different values in the bounds than this leave unknown how rows are spread over ranges of values. */
  private val FewValues = 16

  /** The largest number of comparisons of a file with a range. */
  private val MostWork = 50L * 1000 * 1000

  /**
   * @param ranges the values for which the condition is TRUE
   * @param fileBytes the size of the sorted files; `None`: each partition has as many files as now
   * @return the number of files, or the reason why the bounds allow no estimate
   */
  def of(
      files: FileSet,
      column: ColumnRef,
      ranges: ValueRanges,
      fileBytes: Option[Long] = None): Either[String, Long] = {
    val found = BoundedFiles.read(files, Seq(column))
    def ends = found.iterator.flatMap(f => Iterator(f.lowers(0), f.uppers(0)))
    val different = ends.toSet.size
    if (files.count * ranges.size > MostWork)
      Left(s"the condition on ${column.name} has too many values for an estimate over ${files.count} files")
    else if (found.size < files.count)
      Left(withoutBounds(files.count - found.size, column))
    else if (different < needed(found.size, ranges) && column.columnType != DateType)
      Left(fewValues(different, column))
    else {
      val scale = ValueScale.of(column.columnType, ends)
      val isDense = column.columnType == DateType
      if (found.nonEmpty && !scale.knowsWidth(ends.min, ends.max)) Left(tooWide(column))
      else {
        val groups = found.groupBy(_.partition).valuesIterator
        Right(groups.map(new Group(_, fileBytes, scale, ranges, different, isDense).kept).sum)
      }
    }
  }

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

  /**
   * The files of one partition.
   *
   * @param isDense whether all values between the bounds are taken to occur, as days do
   */
  private final class Group(
      files: IndexedSeq[BoundedFile],
      fileBytes: Option[Long],
      scale: ValueScale,
      ranges: ValueRanges,
      different: Int,
      isDense: Boolean) {
    private val lower = files.iterator.map(_.lowers(0)).min
    private val upper = files.iterator.map(_.uppers(0)).max
    private val sorted = BoundedFiles.count(files, fileBytes)
    private val rowsOfFile = files.iterator.map(_.rows).sum / sorted

    /** The ranges with values of this partition. A sort puts the rows of each into files next to each other. */
    private val wanted = ranges.intersect(ValueRanges.closed(lower, upper))

    def kept: Long =
      if (!files.exists(f => ranges.intersects(f.lowers(0), f.uppers(0)))) 0L
      else {
        val matching = files.iterator.map(f => f.rows * scale.share(wanted, f.lowers(0), f.uppers(0))).sum
        val points = wanted.iterator.count(_.isPoint)
        val values = if (isDense) scale.width(lower, upper).max(different.toDouble) else different.toDouble
        val ofPoints = points * rowsOfFile * sorted / values.max(points.toDouble)
        val filled = Math.max(matching, ofPoints) / rowsOfFile
        Math.min(sorted.toDouble, filled + touched).round.max(1L)
      }

    /**
     * The files that the ranges reach into besides those that they fill. An inner range begins and ends within files,
     * which is one more file on average; many ranges share files.
     */
    private def touched: Double = {
      val ends = wanted.iterator.map(r => inner(r.from, lower) + inner(r.until, ValueRanges.successor(upper))).sum / 2.0
      sorted * (1 - Math.exp(-ends / sorted))
    }

    private def inner(end: ZoneValue, outer: ZoneValue): Int =
      if (end == null || outer == null || end == outer) 0 else 1
  }
}
