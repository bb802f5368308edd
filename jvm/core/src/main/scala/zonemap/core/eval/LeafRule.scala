package zonemap.core.eval

import zonemap.core.predicate._
import zonemap.core.value._

/** What a leaf says about the rows of a zone that are neither null nor NaN. */
sealed private[eval] trait ValueRule

private[eval] object ValueRule {

  /** The same for every value. */
  final case class Constant(result: Match) extends ValueRule

  /** A value matches when it is in the set. */
  final case class Inside(set: ValueSet) extends ValueRule

  /** A value matches when it is not in the set; `needsTight`: that none does may be said of tight bounds only. */
  final case class Outside(set: ValueSet, needsTight: Boolean) extends ValueRule
}

/**
 * A leaf split by the three kinds of rows: null rows, NaN rows and the others. A zone's answer is the union of the
 * answers for the kinds it may hold; docs/design/SOUNDNESS.md argues each operator.
 */
final private[eval] case class LeafRule(nullRows: Match, nanRows: Match, values: ValueRule) {

  /** The answer for a zone whose other rows, if there are any, answer `others`. */
  def combine(nulls: Presence, nans: Presence, others: Match): Match =
    if (nulls == Presence.All) nullRows
    else if (nans == Presence.All) nanRows
    else {
      val withNulls = if (nulls == Presence.None) others else Match.union(others, nullRows)
      if (nans == Presence.None) withNulls else Match.union(withNulls, nanRows)
    }

  /** The answer for values in [lower, upper]; null is no bound. */
  def ofValues(lower: ZoneValue, upper: ZoneValue, tight: Boolean): Match = values match {
    case ValueRule.Constant(result) => result
    case ValueRule.Inside(set) =>
      if (set.misses(lower, upper)) Match.None
      else if (tight && set.contains(lower, upper)) Match.All
      else Match.Some
    case ValueRule.Outside(set, needsTight) =>
      if ((tight || !needsTight) && set.contains(lower, upper)) Match.None
      else if (tight && set.misses(lower, upper)) Match.All
      else Match.Some
  }
}

private[eval] object LeafRule {
  import ValueRule._

  /** The rule of a leaf on a column stored as `stored`; None when the stored bounds cannot answer it. */
  def of(leaf: Leaf, stored: ColumnType): Option[LeafRule] =
    if (!ColumnType.comparable(stored, leaf.column.columnType)) None
    else
      leaf match {
        case IsNull(_)                  => Some(LeafRule(Match.All, Match.None, Constant(Match.None)))
        case NotNull(_)                 => Some(LeafRule(Match.None, Match.All, Constant(Match.All)))
        case IsNaN(_)                   => Some(LeafRule(Match.None, Match.All, Constant(Match.None)))
        case NotNaN(_)                  => Some(LeafRule(Match.All, Match.None, Constant(Match.All)))
        case Compare(column, op, value) => stored.reencode(value, column.columnType).map(compare(op, _, stored))
        case DistinctFrom(column, value) =>
          stored.reencode(value, column.columnType).map(v => differs(Match.All, pointOf(v), stored))
        case In(column, values) =>
          reencode(values, column.columnType, stored).map(v => LeafRule(Match.None, Match.None, member(v, stored)))
        case NotIn(column, values) =>
          reencode(values, column.columnType, stored).map(v => differs(Match.None, Elements(v), stored))
        case NotInOrNull(column, values) =>
          reencode(values, column.columnType, stored).map(v => differs(Match.All, Elements(v), stored))
        case InRanges(column, ranges) =>
          reencode(ranges, column.columnType, stored).map(r => ordered(Match.None, Ranges.set(r), stored))
        case StartsWith(_, prefix) =>
          range(prefix, stored).map(r => LeafRule(Match.None, Match.None, Inside(r)))
        case NotStartsWith(_, prefix) =>
          range(prefix, stored).map(r => LeafRule(Match.None, Match.None, Outside(r, needsTight = false)))
        case NotStartsWithOrNull(_, prefix) =>
          range(prefix, stored).map(r => LeafRule(Match.All, Match.None, Outside(r, needsTight = false)))
        // bounds tell nothing of what is inside a text
        case Contains(_, _) => Some(LeafRule(Match.None, Match.None, Constant(Match.Some)))
      }

  private def compare(op: CompareOp, value: ZoneValue, stored: ColumnType): LeafRule = op match {
    case CompareOp.Eq    => LeafRule(Match.None, Match.None, member(SortedValues.of(Seq(value)), stored))
    case CompareOp.NotEq => differs(Match.None, pointOf(value), stored)
    case CompareOp.Lt    => ordered(Match.None, Interval.to(value, inclusive = false), stored)
    case CompareOp.LtEq  => ordered(Match.None, Interval.to(value, inclusive = true), stored)
    case CompareOp.Gt    => ordered(Match.All, Interval.from(value, inclusive = false), stored)
    case CompareOp.GtEq  => ordered(Match.All, Interval.from(value, inclusive = true), stored)
  }

  private def pointOf(value: ZoneValue): ValueSet = Interval.point(value)

  /** NaN, greater than every value, answers `nanRows`. Uuids have no order to rely on. */
  private def ordered(nanRows: Match, set: ValueSet, stored: ColumnType): LeafRule =
    LeafRule(Match.None, nanRows, if (stored == UuidType) Constant(Match.Some) else Inside(set))

  /** NaN differs from every value. */
  private def differs(nullRows: Match, set: ValueSet, stored: ColumnType): LeafRule =
    LeafRule(nullRows, Match.All, if (stored == UuidType) Constant(Match.Some) else Outside(set, needsTight = true))

  private def member(values: SortedValues, stored: ColumnType): ValueRule =
    if (stored == UuidType) Inside(UuidElements(values))
    else if (values.size == 1) Inside(Interval.point(values(0)))
    else Inside(Elements(values))

  /** The values that start with the prefix: [prefix, successor). */
  private def range(prefix: BytesValue, stored: ColumnType): Option[ValueSet] = stored match {
    case StringType | BinaryType | FixedType(_) =>
      Some(
        Interval(Some(Endpoint(prefix, inclusive = true)), prefix.prefixSuccessor.map(Endpoint(_, inclusive = false))))
    case _ => None
  }

  private def reencode(ranges: ValueRanges, asked: ColumnType, stored: ColumnType): Option[ValueRanges] =
    if (stored.encoding == asked.encoding) Some(ranges)
    else ValueRanges.reencode(ranges, stored.reencode(_, asked))

  private def reencode(values: SortedValues, asked: ColumnType, stored: ColumnType): Option[SortedValues] =
    if (stored.encoding == asked.encoding) Some(values)
    else Some(SortedValues.of(values.iterator.flatMap(stored.reencode(_, asked)).toSeq))
}
