// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import zonemap.core.predicate.{ColumnRef, Predicate}
import zonemap.core.value.UuidType
import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.ByteText
import zonemap.insight.layout.{ColumnEffect, SortEstimate}
import zonemap.insight.reason.ConditionEffect

/**
 * The sort by one column after which the observed scans would keep the fewest files. A sort by a column scatters the
 * values of the others, so a scan without a use of the sorted column is taken to keep all files of its partitions.
 */
private[advice] final class SortAdvice(target: AdvisedTable, usages: Seq[Usage], live: FileSet) {
  import SortAdvice._

  private val scans = usages.map(_.times.toLong).sum
  private val now = Size.sum(usages.map(_.total))
  private val rewritten = new RewrittenFiles(target.table, Size.of(live))
  private lazy val all = rewritten.of(live)

  private lazy val best = candidates.map(tried).sortBy(_.total.files).headOption

  /** The field id of the column of the advised sort; `None` if no sort is advised. */
  def key: Option[Int] = best.filter(helps).map(_.column.fieldId)

  def advice: Advice =
    best match {
      case None =>
        val message = "no observed scan has a condition, first rows or a join key on a single column with bounds"
        Advice.noHelp(Subject, scans, now, message)
      case Some(sort) => if (helps(sort)) found(sort) else noHelp(sort)
    }

  /** Fewer bytes, if the rewrite changes the size of files: larger files are fewer without a better order. */
  private def helps(sort: TriedSort): Boolean =
    if (now.files == 0) false
    else if (isResized) sort.total.bytes <= now.bytes * (1 - Advice.LeastGain)
    else Advice.helps(now, sort.total)

  private def isResized: Boolean = all.files != live.count

  private def found(best: TriedSort): Advice = {
    val size = Size.of(live)
    val message =
      s"a sort by `${best.column.name}` would keep about ${Advice.files(best.total.files)}${best.bytes(isResized)} instead of " +
        s"${count(now.files)} for ${Advice.scans(scans)}${best.others}${best.unknown}; it rewrites the table" +
        (if (isResized) s" into $sizes" else "")
    Advice(
      Advice.Sort,
      best.column.name,
      scans,
      now,
      best.total,
      Cost(size.files, RewrittenFiles.rows(live), size.bytes),
      target.rewrite(best.column, rewritten.fileBytes),
      message
    )
  }

  private def noHelp(best: TriedSort): Advice = {
    val kept = Advice.files(now.files) + (if (isResized) s" with ${ByteText.of(now.bytes)}" else "")
    val less = if (isResized) "clearly fewer bytes" else "clearly fewer"
    val message = s"no sort by one column keeps $less than the $kept that ${Advice.scans(scans)} keep now; the best, " +
      s"by `${best.column.name}`, would keep about ${Advice.files(best.total.files)}${best.bytes(isResized)}" +
      best.others + best.unknown + (if (isResized) s"; a rewrite makes $sizes" else "")
    Advice.noHelp(Subject, scans, now, message)
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
  private def tried(column: ColumnRef): TriedSort = {
    val sizes = usages.groupBy(_.inPartitions).flatMap { case (base, same) =>
      val estimate = SortEstimate.over(base, column, Some(rewritten.fileBytes))
      same.map(usage => usage -> after(column, usage, estimate))
    }
    new TriedSort(column, usages.map(usage => usage -> sizes(usage)))
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
}

/**
 * A sort by one column, with the files that each usage would keep.
 *
 * @param sizes for one scan of a usage; on the left, the reason why that is unknown
 */
private[advice] final class TriedSort(val column: ColumnRef, sizes: Seq[(Usage, Either[String, Size])]) {

  private def size(usage: Usage, found: Either[String, Size]): Size = found.getOrElse(usage.now) * usage.times

  val total: Size = Size.sum(sizes.map { case (usage, found) => size(usage, found) })

  def bytes(isShown: Boolean): String = if (isShown) s" with ${ByteText.of(total.bytes)}" else ""

  /** A clause about the scans that the order makes slower. */
  def others: String = {
    val worse = sizes.filter { case (usage, found) => found.exists(_.files > usage.now.files) }
    if (worse.isEmpty) ""
    else {
      val (before, after) = (Size.sum(worse.map(_._1.total)), Size.sum(worse.map { case (u, f) => size(u, f) }))
      s"; ${Advice.scans(worse.map(_._1.times.toLong).sum)} of them by other columns would keep about " +
        s"${ConditionEffect.count(after.files)} instead of ${ConditionEffect.count(before.files)}"
    }
  }

  def unknown: String =
    sizes.collectFirst { case (_, Left(why)) => s"; no estimate for some scans: $why" }.getOrElse("")
}
