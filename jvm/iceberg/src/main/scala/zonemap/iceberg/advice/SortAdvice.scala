package zonemap.iceberg.advice

import scala.collection.mutable

import zonemap.core.predicate.{ColumnRef, Predicate}
import zonemap.core.value.UuidType
import zonemap.iceberg.convert.PartitionTuples
import zonemap.iceberg.layout.{ColumnEffect, SortEstimate}
import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.ConditionEffect

/**
 * The column by which a sort would keep the fewest files of the observed scans. A sort by a column scatters the values
 * of the others, so a scan without a use of the column is taken to keep all files of its partitions.
 */
private[advice] final class SortAdvice(target: AdvisedTable, usages: Seq[Usage], live: FileSet) {
  import SortAdvice._

  private val scans = usages.map(_.times.toLong).sum
  private val now = Size.sum(usages.map(_.total))

  def advice: Advice = {
    val orders = candidates.map(column => new Order(column, usages.map(u => u -> after(column, u))))
    orders.sortBy(_.total.files).headOption match {
      case None =>
        val message = "no observed scan has a condition, first rows or a join key on a single column with bounds"
        Advice.noHelp(Subject, scans, now, message)
      case Some(best) if Advice.helps(now, best.total) => found(best)
      case Some(best) =>
        val message = s"no sort by one column keeps clearly fewer than the ${Advice.files(now.files)} that " +
          s"${Advice.scans(scans)} keep now; the best, by `${best.column.name}`, would keep about " +
          Advice.files(best.total.files) + best.others + best.unknown
        Advice.noHelp(Subject, scans, now, message)
    }
  }

  private def found(best: Order): Advice = {
    val all = Size.of(live)
    val message = s"a sort by `${best.column.name}` would keep about ${Advice.files(best.total.files)} instead of " +
      s"${count(now.files)} for ${Advice.scans(scans)}${best.others}${best.unknown}; it rewrites the table"
    Advice(
      Advice.Sort,
      best.column.name,
      scans,
      now,
      best.total,
      Cost(all.files, rows(live), all.bytes),
      target.rewrite(best.column, all),
      message)
  }

  private def candidates: Seq[ColumnRef] =
    usages
      .flatMap(u => (u.columns ++ u.scan.topK.map(_.column) ++ u.scan.joinKeys).distinctBy(_.id).map(_ -> u.times))
      .filter { case (column, _) => column.mapKey.isEmpty && column.columnType != UuidType }
      .groupBy(_._1.id)
      .values
      .toSeq
      .sortBy(uses => (-uses.map(_._2).sum, uses.head._1.fieldId))
      .map(_.head._1)
      .take(MostCandidates)

  /** The files that the usage would keep; on the left, the reason why that is unknown. */
  private def after(column: ColumnRef, usage: Usage): Either[String, Size] = {
    val base = usage.inPartitions
    def estimated(predicate: Predicate) =
      ColumnEffect.rangesOf(predicate).filterNot(_.isEverything) match {
        case Some(ranges) => SortEstimate.of(base, column, ranges).map(Size.of(base).only)
        case None         => Right(usage.now)
      }
    usage.keyCondition(column).orElse(usage.on(column)) match {
      case Some(predicate) => estimated(predicate)
      case None =>
        val first = usage.scan.topK.filter(k => k.column.id == column.id && usage.scan.conditions.isEmpty)
        Right(first.fold(Size.of(base))(k => Size.of(base).only(holding(base, k.rows))))
    }
  }

  /** The files with the first rows of each partition, which is sorted on its own. */
  private def holding(files: FileSet, wanted: Long): Long = {
    val partitions = partitionsOf(files)
    val perFile = rows(files).toDouble / files.count.max(1L)
    (partitions + (wanted / perFile.max(1.0)).toLong).min(files.count)
  }

  /** A sort by a column, with the files that each usage would keep. */
  private final class Order(val column: ColumnRef, sizes: Seq[(Usage, Either[String, Size])]) {

    def size(usage: Usage, found: Either[String, Size]): Size = found.getOrElse(usage.now) * usage.times

    val total: Size = Size.sum(sizes.map { case (usage, found) => size(usage, found) })

    /** A clause about the scans that the sort makes slower. */
    def others: String = {
      val worse = sizes.filter { case (usage, found) => found.exists(_.files > usage.now.files) }
      if (worse.isEmpty) ""
      else {
        val (before, after) = (Size.sum(worse.map(_._1.total)), Size.sum(worse.map { case (u, f) => size(u, f) }))
        s"; ${Advice.scans(worse.map(_._1.times.toLong).sum)} of them by other columns would keep about " +
          s"${count(after.files)} instead of ${count(before.files)}"
      }
    }

    def unknown: String =
      sizes.collectFirst { case (_, Left(why)) => s"; no estimate for some scans: $why" }.getOrElse("")
  }
}

private object SortAdvice {
  private val Subject = "sort order"

  /** More columns than this are rarely the sort order of a table. */
  private val MostCandidates = 20

  private def count(files: Long): String = ConditionEffect.count(files)

  private def rows(files: FileSet): Long = {
    var rows = 0L
    files.foreachSegment((segment, kept) => kept.forEach(row => rows += segment.recordCount(row).max(0L)))
    rows
  }

  private def partitionsOf(files: FileSet): Long = {
    val found = mutable.Set.empty[PartitionTuples.TupleKey]
    files.foreachSegment { (segment, kept) =>
      val keys = segment.partitions.map(p => PartitionTuples.key(p.specId, p.values))
      kept.forEach(row => found += keys(segment.partitionOrdinal(row)))
    }
    found.size.toLong
  }
}
