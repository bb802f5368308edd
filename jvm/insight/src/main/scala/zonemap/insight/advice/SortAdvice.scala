package zonemap.insight.advice

import zonemap.core.predicate.{ColumnRef, Predicate}
import zonemap.core.value.UuidType
import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.ByteText
import zonemap.insight.layout.{ColumnEffect, FileOrder, SortEstimate}
import zonemap.insight.reason.ConditionEffect

/**
 * The order of rows in which the files would have the fewest bytes to read for the observed scans: by one column, by
 * several, or a Z-order. A sort by a column scatters the values of the others, so a scan without a use of the sorted
 * columns is taken to keep all files of its partitions.
 */
private[advice] final class SortAdvice(target: AdvisedTable, usages: Seq[Usage], live: FileSet) {
  import SortAdvice._

  private val scans = usages.map(_.times.toLong).sum
  private val now = Size.sum(usages.map(_.total))
  private val rewritten = new RewrittenFiles(target.table, Size.of(live))
  private lazy val all = rewritten.of(live)

  private lazy val single = candidates.map(tried).sortBy(_.total.files).headOption
  private lazy val several = new SeveralColumns(usages, live, rewritten, candidates)

  private lazy val choice: Option[TriedOrder] =
    single.map(one => several.best.filter(_.total.files <= one.total.files * SimplerIsBetter).getOrElse(one))

  /** The field ids of the advised order; empty if no sort is advised. */
  def keys: Set[Int] = choice.filter(helps).toSeq.flatMap(_.order.columns.map(_.fieldId)).toSet

  def advice: Advice =
    choice match {
      case None =>
        val message = "no observed scan has a condition, first rows or a join key on a single column with bounds"
        Advice.noHelp(Subject, scans, now, message)
      case Some(order) =>
        val compared = comparison(order, single.toSeq ++ several.bestSort ++ several.bestZOrder) + several.unknown
        if (helps(order)) found(order, compared) else noHelp(order, compared, several.isTried)
    }

  /** Fewer bytes, if the rewrite changes the size of files: larger files are fewer without a better order. */
  private def helps(order: TriedOrder): Boolean =
    if (now.files == 0) false
    else if (isResized) order.total.bytes <= now.bytes * (1 - Advice.LeastGain)
    else Advice.helps(now, order.total)

  private def isResized: Boolean = all.files != live.count

  private def found(best: TriedOrder, compared: String): Advice = {
    val size = Size.of(live)
    val message =
      s"${best.text} would keep about ${Advice.files(best.total.files)}${best.bytes(isResized)} instead of " +
        s"${count(now.files)} for ${Advice.scans(scans)}${best.others}${best.unknown}$compared; it rewrites the table" +
        (if (isResized) s" into $sizes" else "")
    Advice(
      Advice.Sort,
      best.order.name,
      scans,
      now,
      best.total,
      Cost(size.files, RewrittenFiles.rows(live), size.bytes),
      target.rewrite(best.order, rewritten.fileBytes),
      message
    )
  }

  private def noHelp(best: TriedOrder, compared: String, severalTried: Boolean): Advice = {
    val kinds = if (severalTried) "no sort and no Z-order" else "no sort by one column"
    val kept = Advice.files(now.files) + (if (isResized) s" with ${ByteText.of(now.bytes)}" else "")
    val less = if (isResized) "clearly fewer bytes" else "clearly fewer"
    val message = s"$kinds keeps $less than the $kept that ${Advice.scans(scans)} keep now; the best, " +
      s"by `${best.order.name}`, would keep about ${Advice.files(best.total.files)}${best.bytes(isResized)}" +
      best.others + best.unknown + compared + (if (isResized) s"; a rewrite makes $sizes" else "")
    Advice.noHelp(Subject, scans, now, message)
  }

  /** A clause about the other orders, with files and bytes. */
  private def comparison(chosen: TriedOrder, orders: Seq[TriedOrder]): String =
    orders.filterNot(_ eq chosen).distinctBy(_.order.name) match {
      case Nil => ""
      case others =>
        others
          .map(o => s"${o.text} about ${Advice.files(o.total.files)} (${ByteText.of(o.total.bytes)})")
          .mkString("; compared with ", ", ", "")
    }

  private def sizes: String =
    s"about ${Advice.files(all.files)} of at most ${ByteText.of(rewritten.fileBytes)} (write.target-file-size-bytes)"

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

  /** The sort by a column. Usages of the same partitions share the bounds, which are forgotten before the next ones. */
  private def tried(column: ColumnRef): TriedOrder = {
    val sizes = usages.groupBy(_.inPartitions).flatMap { case (base, same) =>
      val estimate = SortEstimate.over(base, column, Some(rewritten.fileBytes))
      same.map(usage => usage -> after(column, usage, estimate))
    }
    new TriedOrder(FileOrder(Seq(column)), usages.map(usage => usage -> sizes(usage)))
  }

  /** The files that the usage would keep; on the left, the reason why that is unknown. */
  private def after(column: ColumnRef, usage: Usage, estimate: SortEstimate): Either[String, Size] = {
    val base = usage.inPartitions
    def estimated(predicate: Predicate) =
      ColumnEffect.rangesOf(predicate).filterNot(_.isEverything) match {
        case Some(ranges) =>
          estimate.of(ranges).map(rewritten.of(base).only)
        case None => Right(rewritten.merged(usage.now))
      }
    usage
      .keyCondition(column)
      .orElse(usage.on(column))
      .fold[Either[String, Size]](Right(rewritten.withoutCondition(usage, column)))(estimated)
  }

  private def count(files: Long): String = ConditionEffect.count(files)
}

private object SortAdvice {
  private val Subject = "sort order"

  /** More columns than this are rarely the sort order of a table. */
  private val MostCandidates = 20

  /** An order by several columns must keep at most this share of the files that one column keeps. */
  private val SimplerIsBetter = 0.8
}
