// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.layout

import zonemap.core.predicate._
import zonemap.iceberg.prune.FileSet
import zonemap.insight.reason.ConditionEffect

/**
 * The effect of all conditions on one column, and what another layout would change.
 *
 * @param sorted an estimate of the files that the conditions would keep if each partition was sorted by the column;
 *   `None` without an estimate
 * @param noEstimate the reason why there is no estimate; empty if there is one, or if none is needed
 */
private[zonemap] final case class ColumnEffect(
    effect: ConditionEffect,
    sorted: Option[Long] = None,
    noEstimate: String = "")

/**
 * A condition of a scan.
 *
 * @param filter the predicate, if Iceberg evaluates it too
 * @param derived the predicate, if only the index evaluates it
 */
private[zonemap] final case class ScanCondition(filter: Predicate = True, derived: Predicate = True) {
  def predicate: Predicate = Predicate.and(filter, derived)
}

private[zonemap] object ScanCondition {

  /** The files that may hold a row for which all conditions are TRUE. */
  def keep(files: FileSet, conditions: Seq[ScanCondition]): FileSet =
    files.keep(Predicate.and(conditions.map(_.filter): _*), Predicate.and(conditions.map(_.derived): _*))
}

private[zonemap] object ColumnEffect {

  /**
   * The effect of each condition together with the other conditions on the same column; IS NOT NULL counts alone.
   *
   * Each condition is evaluated three times, however many there are.
   */
  def ofEach(conditions: Seq[ScanCondition], live: FileSet): Seq[ColumnEffect] = {
    val groups = conditions.indices.groupBy(i => columnOf(conditions(i)).toRight(i)).values.toIndexedSeq
    val grouped = groups.map(_.map(conditions))
    val byLater = grouped.scanRight(live)((group, files) => ScanCondition.keep(files, group)).tail
    val byEarlier = grouped.scanLeft(live)(ScanCondition.keep)
    val effects = new Array[ColumnEffect](conditions.size)
    groups.indices.foreach { g =>
      val files = byEarlier(g).intersect(byLater(g))
      val kept = ScanCondition.keep(files, grouped(g))
      val effect = of(files, kept, Predicate.and(grouped(g).map(_.predicate): _*))
      groups(g).foreach(effects(_) = effect)
    }
    effects.toSeq
  }

  private def columnOf(condition: ScanCondition): Option[ColumnId] =
    if (isNotNull(condition.predicate)) None else single(condition.predicate).map(_.id)

  /** Fewer files than this need no other layout. */
  private val FewFiles = 4

  /**
   * @param files the files that conditions on other columns keep
   * @param kept those that the conditions on this column keep too
   * @param conditions all conditions on the column
   */
  def of(files: FileSet, kept: FileSet, conditions: Predicate): ColumnEffect = {
    lazy val plain = ColumnEffect(
      if (kept.count * 2 <= files.count || kept.count <= 1) ConditionEffect.Prunes(kept.count, files.count)
      else ConditionEffect.KeepsMost(kept.count, files.count))
    if (isNotNull(conditions)) ColumnEffect(ConditionEffect.NotNull(kept.count, files.count))
    else if (kept.count < FewFiles) plain
    else
      single(conditions).fold(plain) { column =>
        val without = FileIntervals.withoutBounds(kept, column)
        if (without * 2 > kept.count)
          ColumnEffect(ConditionEffect.FilesWithoutBounds(kept.count, files.count, column.name, without))
        else
          rangesOf(conditions).filterNot(_.isEverything).fold(plain)(overlapping(files, kept, column, _, plain.effect))
      }
  }

  private def overlapping(
      files: FileSet,
      kept: FileSet,
      column: ColumnRef,
      ranges: ValueRanges,
      plain: ConditionEffect): ColumnEffect = {
    val estimate = SortEstimate.of(files, column, ranges)
    val overlaps = FileIntervals.of(files, Seq(column)).overlaps
    def isLikely = plain.isInstanceOf[ConditionEffect.KeepsMost] && overlaps.averageDepth >= 2
    def isOverlapping = estimate.fold(_ => isLikely, _ * 2 <= kept.count)
    if (!isOverlapping) ColumnEffect(plain, estimate.toOption, estimate.left.getOrElse(""))
    else {
      val share = overlaps.counts.count(_ > 0).toDouble / overlaps.counts.length.max(1)
      ColumnEffect(
        ConditionEffect.Overlap(kept.count, files.count, column.name, share, overlaps.averageDepth),
        estimate.toOption,
        estimate.left.getOrElse(""))
    }
  }

  /** Whether a predicate excludes only nulls. */
  def isNotNull(predicate: Predicate): Boolean = predicate.isInstanceOf[NotNull]

  /** The only column of a predicate, if it has bounds of its own. */
  def single(predicate: Predicate): Option[ColumnRef] =
    Predicate.columns(predicate).distinctBy(_.id) match {
      case Seq(one) if one.mapKey.isEmpty && !Predicate.isOfElements(predicate) => Some(one)
      case _                                                                    => None
    }

  /** The values for which a predicate on one column is TRUE; `None` if they are not a small number of ranges. */
  def rangesOf(predicate: Predicate): Option[ValueRanges] =
    predicate match {
      case Compare(_, CompareOp.Eq, value)   => Some(ValueRanges.point(value))
      case Compare(_, CompareOp.Lt, value)   => Some(ValueRanges.between(null, value))
      case Compare(_, CompareOp.LtEq, value) => Some(ValueRanges.between(null, ValueRanges.successor(value)))
      case Compare(_, CompareOp.Gt, value)   => Option(ValueRanges.successor(value)).map(ValueRanges.between(_, null))
      case Compare(_, CompareOp.GtEq, value) => Some(ValueRanges.between(value, null))
      case In(_, values)         => Some(ValueRanges.of(values.iterator.flatMap(ValueRanges.point(_).iterator)))
      case InRanges(_, ranges)   => Some(ranges)
      case StartsWith(_, prefix) => Some(ValueRanges.between(prefix, prefix.prefixSuccessor.orNull))
      case NotNull(_)            => Some(ValueRanges.everything)
      case And(children)         => combined(children, _ intersect _)
      case Or(children)          => combined(children, _ union _)
      case _                     => None
    }

  private def combined(
      children: Seq[Predicate],
      combine: (ValueRanges, ValueRanges) => ValueRanges): Option[ValueRanges] = {
    val each = children.map(rangesOf)
    Option.when(each.forall(_.isDefined))(each.flatten.reduce(combine))
  }
}
