package zonemap.insight.advice

import zonemap.iceberg.report.ByteText
import zonemap.insight.layout.FileOrder
import zonemap.insight.reason.ConditionEffect

/**
 * An order of rows, with the files that each usage would keep.
 *
 * @param sizes for one scan of a usage; on the left, the reason why that is unknown
 */
private[advice] final class TriedOrder(val order: FileOrder, sizes: Seq[(Usage, Either[String, Size])]) {

  private def size(usage: Usage, found: Either[String, Size]): Size = found.getOrElse(usage.now) * usage.times

  val total: Size = Size.sum(sizes.map { case (usage, found) => size(usage, found) })

  /** The order as the subject of a sentence. */
  def text: String = {
    val columns = order.columns.map(c => s"`${c.name}`")
    if (order.isZOrder) columns.mkString("a Z-order of ", " and ", "")
    else columns.mkString("a sort by ", ", then ", "")
  }

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
