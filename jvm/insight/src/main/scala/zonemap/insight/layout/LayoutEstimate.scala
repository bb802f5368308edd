package zonemap.insight.layout

import java.util.SplittableRandom

import zonemap.core.predicate.{ColumnRef, ValueRanges}
import zonemap.core.value.{DateType, ZoneValue}
import zonemap.iceberg.convert.PartitionTuples.TupleKey
import zonemap.iceberg.prune.FileSet

/**
 * Estimates how many files conditions on several columns would keep if each partition was rewritten in an order of
 * these columns.
 *
 * The estimate draws rows between the bounds of the files, orders them as Iceberg would, cuts them into files, and
 * compares the conditions with the bounds of these. It reads no data file. It takes the rows of a file to be spread
 * evenly between its bounds, and the columns of one file to be independent of each other.
 */
private[zonemap] final class LayoutEstimate private (
    columns: IndexedSeq[ColumnRef],
    scales: IndexedSeq[ValueScale],
    partitions: IndexedSeq[DrawnRows]) {
  import LayoutEstimate._

  /** The files after a rewrite in this order, whose columns are among those of the estimate. */
  def inOrder(order: FileOrder): EstimatedFiles = {
    val positions = order.columns.map(column => columns.indexWhere(_.id == column.id)).toIndexedSeq
    new EstimatedFiles(partitions.map { rows =>
      val sorted = if (order.isZOrder) byZOrder(rows, positions) else byColumns(rows, positions)
      (rows.partition, rows.share, boxes(rows, sorted))
    })
  }

  private def byColumns(rows: DrawnRows, positions: IndexedSeq[Int]): Array[Integer] = {
    val places = positions.map(rows.places).toArray
    sorted(rows) { (i, j) =>
      var (c, compared) = (0, 0)
      while (compared == 0 && c < places.length) {
        compared = java.lang.Double.compare(places(c)(i), places(c)(j))
        c += 1
      }
      compared
    }
  }

  private def byZOrder(rows: DrawnRows, positions: IndexedSeq[Int]): Array[Integer] = {
    val bits = positions.map(c => rows.places(c).map(ZOrderBits.of(columns(c).columnType, scales(c), _)))
    sorted(rows)(ZOrderBits.compare(bits, _, _))
  }

  private def sorted(rows: DrawnRows)(compare: (Int, Int) => Int): Array[Integer] = {
    val indexes = Array.tabulate(rows.size)(Integer.valueOf)
    java.util.Arrays.sort(indexes, (i: Integer, j: Integer) => compare(i, j))
    indexes
  }

  /** The bounds of each file, column by column: the smallest and the largest place. */
  private def boxes(rows: DrawnRows, sorted: Array[Integer]): IndexedSeq[IndexedSeq[(Double, Double)]] =
    (0 until rows.files).map { k =>
      val from = (k.toLong * sorted.length / rows.files).toInt
      val until = ((k + 1).toLong * sorted.length / rows.files).toInt
      columns.indices.map { c =>
        val places = rows.places(c)
        var (least, most) = (places(sorted(from)), places(sorted(from)))
        var i = from + 1
        while (i < until) {
          least = Math.min(least, places(sorted(i)))
          most = Math.max(most, places(sorted(i)))
          i += 1
        }
        // a file has more rows than were drawn, some of them beyond the outermost
        val beyond = Math.max(0.0, (most - least) / Math.max(1, until - from - 1) - scales(c).unit) / 2
        (least - beyond, most + beyond)
      }
    }

  /** The files of each partition with their bounds; each of them counts as `share` files. */
  final class EstimatedFiles private[LayoutEstimate] (
      found: IndexedSeq[(TupleKey, Double, IndexedSeq[IndexedSeq[(Double, Double)]])]) {

    /**
     * The number of files that conditions keep, at least one.
     *
     * @param inPartitions the partitions that the conditions keep
     * @param conditions for each column, the values for which its condition is TRUE
     */
    def kept(inPartitions: TupleKey => Boolean, conditions: Seq[(ColumnRef, ValueRanges)]): Long = {
      val wanted =
        for ((column, ranges) <- conditions; c = columns.indexWhere(_.id == column.id) if c >= 0)
          yield (c, new Wanted(ranges, scales(c)))
      val files = found.iterator
        .filter(f => inPartitions(f._1))
        .map { case (_, share, boxes) =>
          share * boxes.count(box => wanted.forall { case (c, ranges) => ranges.meets(box(c)) })
        }
        .sum
      files.round.max(1L)
    }
  }
}

/**
 * Rows that were drawn for one partition.
 *
 * @param places the places of the rows' values, column by column
 * @param files the number of files to cut the rows into
 * @param share the number of files of the table that each of these stands for
 */
private[layout] final case class DrawnRows(
    partition: TupleKey,
    places: IndexedSeq[Array[Double]],
    files: Int,
    share: Double) {
  def size: Int = places.head.length
}

private[zonemap] object LayoutEstimate {

  /** The most rows that are drawn, and the most and the fewest for one file. */
  private val MostRows = 65536
  private val MostOfFile = 256
  private val FewestOfFile = 16

  /** Whole numbers are taken to occur each if a file has this many times as many rows as there are numbers. */
  private val RowsOfNumber = 4

  /**
   * @param fileBytes the size of the rewritten files
   * @return the estimate, or the reason why the bounds of a column allow none
   */
  def of(files: FileSet, columns: Seq[ColumnRef], fileBytes: Long): Either[String, LayoutEstimate] = {
    val found = BoundedFiles.read(files, columns)
    val scales = columns.indices.map(c => ValueScale.of(columns(c).columnType, ends(found, c)))
    if (found.size < files.count)
      Left(columns.map(SortEstimate.withoutBounds(files.count - found.size, _)).mkString(" or "))
    else
      columns.indices.flatMap(c => unknown(found, columns(c), c, scales(c))).headOption.toLeft {
        val groups = found.groupBy(_.partition).values.toIndexedSeq
        val all = groups.map(BoundedFiles.count(_, Some(fileBytes))).sum
        val random = new SplittableRandom(all)
        new LayoutEstimate(columns.toIndexedSeq, scales, groups.map(draw(_, scales, fileBytes, all, random)))
      }
  }

  /** The reason why the number of rows with one value is unknown. */
  private def unknown(files: IndexedSeq[BoundedFile], column: ColumnRef, c: Int, scale: ValueScale): Option[String] = {
    val different = ends(files, c).toSet.size
    def isWide = files.nonEmpty && !scale.knowsWidth(ends(files, c).min, ends(files, c).max)
    def isDense = scale.unit > 0 && {
      val width = scale.width(ends(files, c).min, ends(files, c).max)
      column.columnType == DateType || width * RowsOfNumber <= files.iterator.map(_.rows).sum / files.size
    }
    if (isWide) Some(SortEstimate.tooWide(column))
    else Option.when(different < files.size / 2 + 1 && !isDense)(SortEstimate.fewValues(different, column))
  }

  private def ends(files: IndexedSeq[BoundedFile], c: Int): Iterator[ZoneValue] =
    files.iterator.flatMap(f => Iterator(f.lowers(c), f.uppers(c)))

  private def draw(
      files: IndexedSeq[BoundedFile],
      scales: IndexedSeq[ValueScale],
      fileBytes: Long,
      all: Int,
      random: SplittableRandom): DrawnRows = {
    val wanted = BoundedFiles.count(files, Some(fileBytes))
    val cut = Math.max(1, Math.min(wanted.toLong, wanted.toLong * MostRows / FewestOfFile / all)).toInt
    val rows = cut * Math.max(FewestOfFile, Math.min(MostOfFile, MostRows / all))
    val sources = sourcesOf(files, rows)
    val places = scales.indices.map { c =>
      sources.map { file =>
        val (least, width) = (scales(c).placeOf(file.lowers(c)), scales(c).width(file.lowers(c), file.uppers(c)))
        val place = least + random.nextDouble() * width
        if (scales(c).unit > 0) Math.floor(place) else place
      }
    }
    DrawnRows(files.head.partition, places, cut, wanted.toDouble / cut)
  }

  /** The file of each row that is drawn; each file has rows in proportion to its own. */
  private def sourcesOf(files: IndexedSeq[BoundedFile], rows: Int): Array[BoundedFile] = {
    val total = files.iterator.map(_.rows).sum
    var (file, passed) = (0, files(0).rows)
    Array.tabulate(rows) { i =>
      val at = (i + 0.5) / rows * total
      while (passed < at && file < files.size - 1) {
        file += 1
        passed += files(file).rows
      }
      files(file)
    }
  }

  /** Ranges of values as intervals of places, which are in order and do not overlap. */
  private final class Wanted(ranges: ValueRanges, scale: ValueScale) {
    private val (starts, stops) = ranges.iterator
      .map { range =>
        val from = if (range.from == null) Double.NegativeInfinity else scale.placeOf(range.from)
        val until = if (range.until == null) Double.PositiveInfinity else scale.placeOf(range.until)
        (from, until)
      }
      .toArray
      .unzip

    /** Whether some interval meets the bounds: if one does, then the last that begins within them does. O(log n). */
    def meets(bounds: (Double, Double)): Boolean = {
      var (low, high) = (0, starts.length)
      while (low < high) {
        val middle = (low + high) >>> 1
        if (starts(middle) <= bounds._2) low = middle + 1 else high = middle
      }
      low > 0 && (bounds._1 < stops(low - 1) || (scale.unit == 0 && bounds._1 <= stops(low - 1)))
    }
  }
}
