// SPDX-License-Identifier: Apache-2.0
package zonemap.core.predicate

import zonemap.core.value.{BytesValue, ColumnType, ZoneValue}

/**
 * A filter over the rows of a table with Spark SQL's semantics: NaN equals NaN and is greater than every other value,
 * -0.0 equals 0.0, and a row passes only if the filter is TRUE. There is no NOT: the caller pushes NOT down to the
 * leaves, so most leaves have a negated counterpart. Literals are never NaN; see [[Predicate.compareToNaN]]. Immutable.
 */
sealed private[zonemap] trait Predicate {

  /** One readable line, with column names. */
  final override def toString: String = PredicateText.describe(this)
}

private[zonemap] case object True extends Predicate
private[zonemap] case object False extends Predicate

final private[zonemap] case class And(children: Seq[Predicate]) extends Predicate
final private[zonemap] case class Or(children: Seq[Predicate]) extends Predicate

/** A condition that cannot be evaluated: it may hold for any row and is never proven for a row. */
final private[zonemap] case class Unknown(reason: String) extends Predicate

/**
 * The identity of a column: its field id. For the value of one key of a map, the identity is the field id of the map's
 * values and the key.
 */
final private[zonemap] case class ColumnId(fieldId: Int, mapKey: Option[ZoneValue] = None)

/**
 * A column of the query: its field id and its type in the pinned schema. The name is for display only. With a key, the
 * column is the value of that key of a map, null in rows without the key; facts can cover such a column, bounds cannot.
 */
final private[zonemap] case class ColumnRef(
    fieldId: Int,
    columnType: ColumnType,
    name: String,
    mapKey: Option[ZoneValue] = None) {
  def id: ColumnId = ColumnId(fieldId, mapKey)
}

/** `left op right` of two columns, with `<`, `<=` or `=`: rows with a null on either side do not match. */
final private[zonemap] case class CompareColumns(left: ColumnRef, op: CompareOp, right: ColumnRef) extends Predicate {
  require(CompareColumns.operators(op), s"Columns are compared with <, <= and =, not with ${op.symbol}.")
}

private[zonemap] object CompareColumns {
  private val operators: Set[CompareOp] = Set(CompareOp.Lt, CompareOp.LtEq, CompareOp.Eq)
}

/**
 * A condition that is evaluated on values of its columns, in their order, or on the spans of their values. Zones of
 * several files tell nothing about it, and it is never proven for a file.
 */
final private[zonemap] case class Evaluated(columns: Seq[ColumnRef], condition: RowCondition) extends Predicate {
  require(columns.nonEmpty, "A condition without columns needs no values.")
}

/**
 * Some element of a list, or some key or value of a map, meets the condition. The columns of the element have a value
 * for each element of a row. Bounds tell nothing about it, and it is never proven for a file.
 */
final private[zonemap] case class AnyElement(condition: Predicate) extends Predicate

/** A condition on one column. */
sealed private[zonemap] trait Leaf extends Predicate {
  def column: ColumnRef
}

sealed abstract private[zonemap] class CompareOp(val symbol: String, val code: String)

private[zonemap] object CompareOp {
  case object Lt extends CompareOp("<", "lt")
  case object LtEq extends CompareOp("<=", "lteq")
  case object Gt extends CompareOp(">", "gt")
  case object GtEq extends CompareOp(">=", "gteq")
  case object Eq extends CompareOp("=", "eq")
  case object NotEq extends CompareOp("<>", "noteq")

  val values: Seq[CompareOp] = Seq(Lt, LtEq, Gt, GtEq, Eq, NotEq)
}

/** `x op value`: null rows do not match. */
final private[zonemap] case class Compare(column: ColumnRef, op: CompareOp, value: ZoneValue) extends Leaf

/** `NOT (x <=> value)`: null rows match. */
final private[zonemap] case class DistinctFrom(column: ColumnRef, value: ZoneValue) extends Leaf

/** `x IN (values)`: null and NaN rows do not match. */
final private[zonemap] case class In(column: ColumnRef, values: SortedValues) extends Leaf

/** SQL's `x NOT IN (values)` for a list without NULL: null rows do not match. A list with NULL is [[False]]. */
final private[zonemap] case class NotIn(column: ColumnRef, values: SortedValues) extends Leaf

/** `x IS NULL OR x NOT IN (values)`: null rows match. */
final private[zonemap] case class NotInOrNull(column: ColumnRef, values: SortedValues) extends Leaf

/** `x` lies in one of the ranges: null and NaN rows do not match. */
final private[zonemap] case class InRanges(column: ColumnRef, ranges: ValueRanges) extends Leaf

final private[zonemap] case class IsNull(column: ColumnRef) extends Leaf
final private[zonemap] case class NotNull(column: ColumnRef) extends Leaf

/** Null rows do not match. */
final private[zonemap] case class IsNaN(column: ColumnRef) extends Leaf

/** Iceberg's notNaN: null rows match. */
final private[zonemap] case class NotNaN(column: ColumnRef) extends Leaf

final private[zonemap] case class StartsWith(column: ColumnRef, prefix: BytesValue) extends Leaf

/** SQL's `x NOT LIKE 'prefix%'`: null rows do not match. */
final private[zonemap] case class NotStartsWith(column: ColumnRef, prefix: BytesValue) extends Leaf

/** `x IS NULL OR x NOT LIKE 'prefix%'`: null rows match. */
final private[zonemap] case class NotStartsWithOrNull(column: ColumnRef, prefix: BytesValue) extends Leaf

/**
 * A text that contains each of the parts, at any place and in any order. Null rows do not match.
 *
 * @param ignoresCase whether the two cases of each letter from A to Z are the same
 */
final private[zonemap] case class Contains(column: ColumnRef, parts: Seq[BytesValue], ignoresCase: Boolean = false)
    extends Leaf

private[zonemap] object Predicate {

  def and(children: Predicate*): Predicate = simplify(And(children))

  def or(children: Predicate*): Predicate = simplify(Or(children))

  /** Like [[and]] for predicates that are simplified already: their parts are not simplified again. */
  def andOfSimple(children: Predicate*): Predicate = Simplifier.and(children)

  /** Like [[or]] for predicates that are simplified already: their parts are not simplified again. */
  def orOfSimple(children: Predicate*): Predicate = Simplifier.or(children)

  /** Returns `x op NaN` without a NaN literal, in Spark's order. */
  def compareToNaN(column: ColumnRef, op: CompareOp): Predicate = op match {
    case CompareOp.Eq | CompareOp.GtEq  => IsNaN(column)
    case CompareOp.NotEq | CompareOp.Lt => And(Seq(NotNull(column), NotNaN(column)))
    case CompareOp.LtEq                 => NotNull(column)
    case CompareOp.Gt                   => False
  }

  /** Returns an equivalent predicate without nested or single-child And/Or, True or False below the root. O(size). */
  def simplify(predicate: Predicate): Predicate = Simplifier(predicate)

  /**
   * Returns a text for cache keys. Two predicates have the same text only if they select the same rows: it contains
   * field ids, types and values, but no names, and does not depend on the order of And and Or children.
   */
  def canonical(predicate: Predicate): String = PredicateText.canonical(predicate)

  /** One readable line, with column names. */
  def describe(predicate: Predicate): String = PredicateText.describe(predicate)

  /** Returns the field ids of all columns in the predicate. */
  def fieldIds(predicate: Predicate): Set[Int] = mentioned(predicate).map(_.fieldId).toSet

  /** Returns all columns in the predicate, each once, in the order in which they first occur. */
  def columns(predicate: Predicate): Seq[ColumnRef] = mentioned(predicate).distinct.toSeq

  /** Whether some column of the predicate has a value for each element of a row. */
  def isOfElements(predicate: Predicate): Boolean = predicate match {
    case And(children) => children.exists(isOfElements)
    case Or(children)  => children.exists(isOfElements)
    case AnyElement(_) => true
    case _             => false
  }

  /** Returns the predicate, simplified, with `unfit` instead of each condition on a column that does not fit. */
  def replaced(predicate: Predicate, fits: ColumnRef => Boolean, unfit: Predicate): Predicate = {
    def fit(node: Predicate): Predicate = node match {
      case And(children) => And(children.map(fit))
      case Or(children)  => Or(children.map(fit))
      case condition     => if (mentioned(condition).forall(fits)) condition else unfit
    }
    simplify(fit(predicate))
  }

  private def mentioned(predicate: Predicate): Iterator[ColumnRef] = predicate match {
    case And(children) => children.iterator.flatMap(mentioned)
    case Or(children)  => children.iterator.flatMap(mentioned)
    case leaf: Leaf    => Iterator.single(leaf.column)

    case CompareColumns(left, _, right) => Iterator(left, right)
    case Evaluated(columns, _)          => columns.iterator
    case AnyElement(condition)          => mentioned(condition)

    case True | False | Unknown(_) => Iterator.empty
  }
}
