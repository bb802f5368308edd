package zonemap.iceberg.advice

import zonemap.core.fact.FactKind
import zonemap.core.predicate._
import zonemap.core.value.Encoding
import zonemap.iceberg.layout.FileIntervals

/**
 * A condition on one column that a fact could evaluate for the files that a usage keeps.
 *
 * @param withoutBounds whether the files have no bounds of the column
 */
private[advice] final case class FactNeed(
    usage: Usage,
    column: ColumnRef,
    predicate: Predicate,
    withoutBounds: Boolean) {

  /** The kinds of facts that may evaluate the condition. */
  def kinds: Set[FactKind] =
    FactNeed.kindsOf(predicate) ++ (if (withoutBounds && column.mapKey.isEmpty) Set(FactKind.Bounds) else Nil)
}

private[advice] object FactNeed {

  /** Fewer files than this need no fact. */
  private val FewFiles = 4L

  private val WithoutBounds = Set("CONDITION_NO_BOUNDS")

  def of(usage: Usage): Seq[FactNeed] = if (usage.now.files < FewFiles) Nil else ofMany(usage)

  private def ofMany(usage: Usage): Seq[FactNeed] = {
    val used = usage.columns.flatMap(c => usage.on(c).map(FactNeed(usage, c, _, lacksBounds(usage, c))))
    val hindered = for {
      condition <- usage.scan.conditions
      hindrance <- condition.hindrance.toSeq
      predicate = condition.condition.predicate
      column <- single(predicate)
    } yield FactNeed(usage, column, predicate, WithoutBounds(hindrance.code))
    val keys = usage.scan.joinKeys.flatMap(k => usage.keyCondition(k).map(FactNeed(usage, k, _, withoutBounds = false)))
    (used ++ hindered ++ keys)
      .groupBy(_.column.id)
      .values
      .map(same =>
        same.head
          .copy(predicate = Predicate.and(same.map(_.predicate): _*), withoutBounds = same.exists(_.withoutBounds)))
      .toSeq
  }

  private def lacksBounds(usage: Usage, column: ColumnRef): Boolean =
    FileIntervals.withoutBounds(usage.kept, column) * 2 > usage.kept.count

  /** The only column of a predicate; unlike bounds, facts can be of one key of a map. */
  private def single(predicate: Predicate): Option[ColumnRef] =
    Predicate.columns(predicate).distinctBy(_.id) match {
      case Seq(one) => Some(one)
      case _        => None
    }

  private def kindsOf(predicate: Predicate): Set[FactKind] =
    predicate match {
      case And(children)                          => children.flatMap(kindsOf).toSet
      case Or(children)                           => children.flatMap(kindsOf).toSet
      case Evaluated(_, _)                        => Set(FactKind.Values)
      case Contains(_, _)                         => Set(FactKind.NGrams, FactKind.Values)
      case In(_, _) | Compare(_, CompareOp.Eq, _) => Set(FactKind.Bloom, FactKind.Values)
      case InRanges(column, ranges) =>
        if (ranges.iterator.forall(_.isPoint)) Set(FactKind.Bloom, FactKind.Values) else ofRanges(column)
      case leaf: Leaf => ofRanges(leaf.column)
      case _          => Set.empty
    }

  private def ofRanges(column: ColumnRef): Set[FactKind] =
    if (column.columnType.encoding == Encoding.Longs) Set(FactKind.Ranges, FactKind.Values) else Set(FactKind.Values)
}
