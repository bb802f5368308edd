// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import zonemap.core.fact.FactKind
import zonemap.core.predicate._
import zonemap.core.value.Encoding

/**
 * A condition that a fact of its column could evaluate for the files that a usage keeps.
 *
 * @param columns the column; several if only the bounds of all of them can evaluate the condition
 */
private[advice] final case class FactNeed(usage: Usage, columns: Seq[ColumnRef], predicate: Predicate) {

  /** The kinds of facts that may evaluate the condition. */
  def kinds: Set[FactKind] =
    if (columns.sizeIs > 1) Set(FactKind.Bounds) else FactNeed.kindsOf(predicate) + FactKind.Bounds
}

private[advice] object FactNeed {

  /** Fewer files than this need no fact. */
  private val FewFiles = 4L

  private val WithoutBounds = Set("CONDITION_NO_BOUNDS")

  def of(usage: Usage): Seq[FactNeed] = if (usage.now.files < FewFiles) Nil else ofMany(usage)

  private def ofMany(usage: Usage): Seq[FactNeed] = {
    val used = usage.columns.flatMap(c => usage.on(c).map(FactNeed(usage, Seq(c), _)))
    val hindered = for {
      condition <- usage.scan.conditions
      hindrance <- condition.hindrance.toSeq
      predicate = condition.condition.predicate
      columns = Predicate.columns(predicate).distinctBy(_.id)
      if columns.size == 1 || (columns.nonEmpty && WithoutBounds(hindrance.code))
    } yield FactNeed(usage, columns, predicate)
    val keys = usage.scan.joinKeys.flatMap(k => usage.keyCondition(k).map(FactNeed(usage, Seq(k), _)))
    (used ++ hindered ++ keys)
      .groupBy(_.columns.map(_.id))
      .values
      .map(same => same.head.copy(predicate = Predicate.and(same.map(_.predicate): _*)))
      .toSeq
  }

  private def kindsOf(predicate: Predicate): Set[FactKind] =
    predicate match {
      case And(children)                          => children.flatMap(kindsOf).toSet
      case Or(children)                           => children.flatMap(kindsOf).toSet
      case AnyElement(condition)                  => kindsOf(condition)
      case Evaluated(_, _)                        => Set(FactKind.Values)
      case _: Contains                            => Set(FactKind.NGrams, FactKind.Values)
      case In(_, _) | Compare(_, CompareOp.Eq, _) => ofPoints
      case InRanges(column, ranges) =>
        if (ranges.iterator.forall(_.isPoint)) ofPoints else ofRanges(column)
      case leaf: Leaf => ofRanges(leaf.column)
      case _          => Set.empty
    }

  private val ofPoints: Set[FactKind] = Set(FactKind.Bloom, FactKind.Keys, FactKind.Values)

  private def ofRanges(column: ColumnRef): Set[FactKind] =
    if (column.columnType.encoding == Encoding.Longs) Set(FactKind.Ranges, FactKind.Values) else Set(FactKind.Values)
}
