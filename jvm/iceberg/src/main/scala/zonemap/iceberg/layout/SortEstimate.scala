package zonemap.iceberg.layout

import scala.collection.mutable

import zonemap.core.predicate.{ColumnRef, ValueRanges}
import zonemap.core.value.{DateType, Presence, ZoneValue}
import zonemap.iceberg.convert.PartitionTuples
import zonemap.iceberg.convert.PartitionTuples.TupleKey
import zonemap.iceberg.prune.FileSet

/**
 * Estimates how many of some files a condition on one column would keep if each partition was sorted by this column into
 * as many files as it has now.
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
   * @return the number of files, or the reason why the bounds allow no estimate
   */
  def of(files: FileSet, column: ColumnRef, ranges: ValueRanges): Either[String, Long] = {
    val found = read(files, column)
    val different = found.iterator.flatMap(f => Iterator(f.lower, f.upper)).toSet.size
    if (files.count * ranges.size > MostWork)
      Left(s"the condition on ${column.name} has too many values for an estimate over ${files.count} files")
    else if (found.size < files.count)
      Left(s"${files.count - found.size} files have no bounds of ${column.name}")
    else if (different < needed(found.size, ranges) && column.columnType != DateType)
      Left(
        s"the bounds of ${column.name} show only $different different values, so the number of rows of a value is " +
          "unknown")
    else {
      val scale = ValueScale.of(column.columnType, found.iterator.flatMap(f => Iterator(f.lower, f.upper)))
      val isDense = column.columnType == DateType
      Right(found.groupBy(_.partition).valuesIterator.map(new Group(_, scale, ranges, different, isDense).kept).sum)
    }
  }

  /** Of a column with fewer values than half the files, a single value may have the rows of several files. */
  private def needed(files: Int, ranges: ValueRanges): Int = {
    val ofValues = files / 2 + 1
    if (ranges.iterator.exists(_.isPoint)) ofValues else Math.min(FewValues, ofValues)
  }

  private final case class Bounded(partition: TupleKey, lower: ZoneValue, upper: ZoneValue, rows: Double)

  /** The files with bounds; a file of nulls only has no place in a sort by values, and no condition keeps it. */
  private def read(files: FileSet, column: ColumnRef): IndexedSeq[Bounded] = {
    val found = mutable.ArrayBuffer.empty[Bounded]
    files.foreachSegment { (segment, rows) =>
      val isValid = files.trust.isValid(segment, column.fieldId)
      val keys = segment.partitions.map(p => PartitionTuples.key(p.specId, p.values))
      if (!rows.isEmpty) segment.column(column.fieldId).foreach { stored =>
        def encoded(value: ZoneValue) = Option(value).flatMap(column.columnType.reencode(_, stored.columnType))
        rows.forEach { row =>
          if (isValid(row) && stored.nulls(row) != Presence.All)
            for (lower <- encoded(stored.lower(row)); upper <- encoded(stored.upper(row))
              if lower.compare(upper) <= 0) {
              val records = segment.recordCount(row).toDouble.max(1)
              found += Bounded(keys(segment.partitionOrdinal(row)), lower, upper, records)
            }
        }
      }
    }
    found.toIndexedSeq
  }

  /**
   * The files of one partition.
   *
   * @param isDense whether all values between the bounds are taken to occur, as days do
   */
  private final class Group(
      files: IndexedSeq[Bounded],
      scale: ValueScale,
      ranges: ValueRanges,
      different: Int,
      isDense: Boolean) {
    private val lower = files.iterator.map(_.lower).min
    private val upper = files.iterator.map(_.upper).max
    private val rowsOfFile = files.iterator.map(_.rows).sum / files.size

    /** The ranges with values of this partition. A sort puts the rows of each into files next to each other. */
    private val wanted = ranges.intersect(ValueRanges.closed(lower, upper))

    def kept: Long =
      if (!files.exists(f => ranges.intersects(f.lower, f.upper))) 0L
      else {
        val matching = files.iterator.map(f => f.rows * scale.share(wanted, f.lower, f.upper)).sum
        val points = wanted.iterator.count(_.isPoint)
        val values = if (isDense) scale.width(lower, upper).max(different.toDouble) else different.toDouble
        val ofPoints = points * rowsOfFile * files.size / values.max(points.toDouble)
        val filled = Math.max(matching, ofPoints) / rowsOfFile
        Math.min(files.size.toDouble, filled + touched).round.max(1L)
      }

    /**
     * The files that the ranges reach into besides those that they fill. An inner range begins and ends within files,
     * which is one more file on average; many ranges share files.
     */
    private def touched: Double = {
      val ends = wanted.iterator.map(r => inner(r.from, lower) + inner(r.until, ValueRanges.successor(upper))).sum / 2.0
      files.size * (1 - Math.exp(-ends / files.size))
    }

    private def inner(end: ZoneValue, outer: ZoneValue): Int =
      if (end == null || outer == null || end == outer) 0 else 1
  }
}
