package zonemap.insight.advice

import zonemap.core.predicate.{ColumnRef, ValueRanges}
import zonemap.iceberg.prune.FileSet
import zonemap.insight.layout.{ColumnEffect, FileOrder, LayoutEstimate}

/**
 * The sorts by two or three columns and the Z-orders that the observed scans could use.
 *
 * @param candidates the columns that scans use, the most used first
 */
private[advice] final class SeveralColumns(
    usages: Seq[Usage],
    live: FileSet,
    rewritten: RewrittenFiles,
    candidates: Seq[ColumnRef]) {
  import SeveralColumns._

  private val (unestimated, columns) =
    if (candidates.size < 2) (Nil, Nil)
    else candidates.take(MostTried).partitionMap(c => LayoutEstimate.of(live, Seq(c), rewritten.fileBytes).map(_ => c))

  private val chosen = columns.take(MostColumns)

  private lazy val estimate: Option[LayoutEstimate] =
    Option.when(isTried)(LayoutEstimate.of(live, chosen, rewritten.fileBytes)).flatMap(_.toOption)

  def isTried: Boolean = chosen.size > 1

  val bestSort: Option[TriedOrder] = best(subsets(2).flatMap(_.permutations).map(FileOrder(_)))

  val bestZOrder: Option[TriedOrder] =
    best(subsets(2).filter(_.forall(FileOrder.hasZOrder)).map(FileOrder(_, isZOrder = true)))

  def best: Option[TriedOrder] = simplest(bestSort.toSeq ++ bestZOrder)

  /** A clause about the columns that no order of several columns was tried with. */
  def unknown: String = unestimated.headOption.fold("")(why => s"; no estimate with some columns: $why")

  private def subsets(least: Int): Seq[Seq[ColumnRef]] =
    (least to chosen.size).flatMap(size => chosen.combinations(size))

  private def best(orders: Seq[FileOrder]): Option[TriedOrder] =
    simplest(estimate.toSeq.flatMap(found => orders.map(tried(found, _))))

  /** The first of the orders that keep about the fewest files. */
  private def simplest(orders: Seq[TriedOrder]): Option[TriedOrder] =
    orders.map(_.total.files).minOption.flatMap(least => orders.find(_.total.files <= least * CloseToBest))

  private def tried(estimate: LayoutEstimate, order: FileOrder): TriedOrder = {
    val files = estimate.inOrder(order)
    new TriedOrder(order, usages.map(u => u -> Right(after(files, order, u))))
  }

  private def after(files: LayoutEstimate#EstimatedFiles, order: FileOrder, usage: Usage): Size = {
    val conditions = chosen.flatMap(c => rangesOf(usage, c).map(c -> _))
    if (conditions.isEmpty && !order.isZOrder) rewritten.withoutCondition(usage, order.columns.head)
    else {
      val partitions = rewritten.partitionsOf(usage.inPartitions)
      val base = rewritten.of(usage.inPartitions)
      base.only(files.kept(partitions.contains, conditions).min(base.files))
    }
  }

  private def rangesOf(usage: Usage, column: ColumnRef): Option[ValueRanges] =
    usage.keyCondition(column).orElse(usage.on(column)).flatMap(ColumnEffect.rangesOf).filterNot(_.isEverything)
}

private object SeveralColumns {

  /** The most used columns, of which those with an estimate are tried. */
  private val MostTried = 6

  /** More columns in an order rarely help: each takes a part of the effect of the others. */
  private val MostColumns = 3

  /** Orders that keep at most this many times the fewest files are as good as the best. */
  private val CloseToBest = 1.1
}
