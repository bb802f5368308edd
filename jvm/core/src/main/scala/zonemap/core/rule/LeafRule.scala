// SPDX-License-Identifier: Apache-2.0
package zonemap.core.rule

import zonemap.core.predicate._
import zonemap.core.value.{BinaryType, BytesValue, ColumnType, FixedType, Presence, StringType, UuidType, ZoneValue}

/** The part of a leaf that decides rows which are neither null nor NaN. */
sealed private[core] trait ValueRule

private[core] object ValueRule {

  /** The result is the same for every value. */
  final case class Constant(result: Match) extends ValueRule

  /** A value matches when it is in the set. */
  final case class Inside(set: ValueSet) extends ValueRule

  /**
   * A value matches when it is not in the set.
   *
   * @param needsTight whether only tight bounds can prove that no value matches
   */
  final case class Outside(set: ValueSet, needsTight: Boolean) extends ValueRule
}

/**
 * A leaf split by three kinds of rows: null rows, NaN rows and all others. The result for a zone is the union of the
 * results for the kinds of rows that the zone may hold; docs/design/SOUNDNESS.md argues each operator.
 */
final private[core] case class LeafRule(nullRows: Match, nanRows: Match, values: ValueRule) {

  /** The result for a zone, given the result `others` for its rows that are neither null nor NaN. */
  def combine(nulls: Presence, nans: Presence, others: Match): Match =
    if (nulls == Presence.All) nullRows
    else if (nans == Presence.All) nanRows
    else {
      val withNulls = if (nulls == Presence.None) others else Match.union(others, nullRows)
      if (nans == Presence.None) withNulls else Match.union(withNulls, nanRows)
    }

  /** The result for values in [lower, upper]; a null bound is absent. */
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

private[core] object LeafRule {
  import ValueRule._

  /** The rule of a leaf on a column stored as type `stored`; None if bounds of that type cannot evaluate the leaf. */
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
        // bounds prove nothing about the inside of a text
        case _: Contains => Some(LeafRule(Match.None, Match.None, Constant(Match.Some)))
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

  /**
   * A comparison. NaN counts as greater than every value, so the operator determines `nanRows`. Bounds of uuids prove
   * nothing here, because writers order uuids in two ways.
   */
  private def ordered(nanRows: Match, set: ValueSet, stored: ColumnType): LeafRule =
    LeafRule(Match.None, nanRows, if (stored == UuidType) Constant(Match.Some) else Inside(set))

  /** An inequality. NaN rows match, because NaN differs from every value. */
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

  private def reencode(ranges: ValueRanges, literalType: ColumnType, stored: ColumnType): Option[ValueRanges] =
    if (stored.encoding == literalType.encoding) Some(ranges)
    else ValueRanges.reencode(ranges, stored.reencode(_, literalType))

  private def reencode(values: SortedValues, literalType: ColumnType, stored: ColumnType): Option[SortedValues] =
    if (stored.encoding == literalType.encoding) Some(values)
    else Some(SortedValues.of(values.iterator.flatMap(stored.reencode(_, literalType)).toSeq))
}
