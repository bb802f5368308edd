// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions.{And, AttributeReference, BinaryComparison, CaseWhen, Cast, Coalesce}
import org.apache.spark.sql.catalyst.expressions.{EqualNullSafe, EqualTo, Expression, GetStructField, GreaterThan}
import org.apache.spark.sql.catalyst.expressions.{GreaterThanOrEqual, If, In, InSet, IsNotNull, IsNull, LessThan}
import org.apache.spark.sql.catalyst.expressions.{LessThanOrEqual, Literal, MapKeys, MapValues, Not, Or, StartsWith}
import org.apache.spark.sql.types.{BooleanType, DataType, DoubleType, FloatType, IntegerType, LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.predicate.{
  AnyElement,
  ColumnRef,
  Compare,
  CompareColumns,
  CompareOp,
  Contains,
  False,
  Predicate,
  True,
  ValueRanges
}
import zonemap.core.value.{BytesValue, ColumnType, ZoneValue}

/** The columns of a relation with bounds or facts in the index. */
private[zonemap] trait ColumnResolver {

  /**
   * Returns the column of an attribute, of a field of a struct in an attribute, of the value of a map's key, or of an
   * element. Returns None for other expressions, and for columns without bounds or facts in Spark's order.
   */
  def column(expression: Expression): Option[ColumnRef]

  /** Returns the value of a map's key as facts name it, whether or not the index has facts of it. */
  def keyName(map: Expression, key: ZoneValue): Option[String] = None

  /** True if the index has facts about parts of the texts of a column. */
  def knowsTexts(column: ColumnRef): Boolean = false

  /** Returns the condition for evaluation on values; [[True]] if it cannot be evaluated or no file has few values. */
  def evaluated(condition: Expression): Predicate = True
}

/**
 * Translates a condition of Catalyst into ranges of its columns.
 *
 * Every method returns a predicate that is TRUE for at least the wanted rows, and [[True]] if it cannot restrict them.
 * Functions are inverted here, once, so that planning evaluates only plain ranges: SOUNDNESS, S46. If ranges do not
 * represent a condition exactly, it is also evaluated on the values of files with few values: S60.
 */
private[zonemap] final class ExpressionTranslator(columns: ColumnResolver) {

  /**
   * Remaining steps: nested cases are translated several times, and a condition that needs more steps becomes [[True]].
   */
  private var looks = ExpressionTranslator.MaxLooks

  /** Remaining evaluations of functions, and of work that takes as long; a condition that needs more becomes [[True]]. */
  private var evaluations = ExpressionTranslator.MaxEvaluations

  /** Number of parts that could not be translated exactly. */
  private var doubts = 0

  /** Returns a predicate for the rows for which `condition` is TRUE. */
  def whenTrue(condition: Expression): Predicate = Predicate.simplify(when(condition, outcome = true))

  /** Returns a predicate for the rows for which the value of `tested` is in the ranges, or is NaN if `nan` is true. */
  def whenIn(tested: Expression, ranges: ValueRanges, nan: Boolean): Predicate =
    if (!CatalystValues.isOrdered(tested.dataType)) True
    else Predicate.simplify(rowsOf(tested, Wanted(ranges, nan, nulls = false)))

  private def when(condition: Expression, outcome: Boolean): Predicate =
    condition match {
      case Literal(value, BooleanType) => if (value == outcome) True else False
      case Not(child)                  => when(child, !outcome)
      case And(left, right)            => combine(outcome, when(left, outcome), when(right, outcome))
      case Or(left, right)             => combine(!outcome, when(left, outcome), when(right, outcome))
      case leaf =>
        val before = doubts
        val told = whenLeaf(leaf, outcome)
        if (doubts == before) told else both(told, columns.evaluated(if (outcome) leaf else Not(leaf)))
    }

  private def whenLeaf(condition: Expression, outcome: Boolean): Predicate =
    condition match {
      case IsNull(child)    => rowsOf(child, if (outcome) Wanted.onlyNull else Wanted.notNull)
      case IsNotNull(child) => rowsOf(child, if (outcome) Wanted.notNull else Wanted.onlyNull)
      case Comparison(tested, wanted) =>
        rowsOf(tested, if (outcome) wanted else wanted.otherValues)
      case EqualNullSafe(tested, Literal(value, dataType)) => nullSafe(tested, value, dataType, outcome)
      case EqualNullSafe(Literal(value, dataType), tested) => nullSafe(tested, value, dataType, outcome)
      case In(tested, list) if list.forall(_.isInstanceOf[Literal]) =>
        among(tested, list.map(_.asInstanceOf[Literal].value), outcome)
      case InSet(tested, set) => among(tested, set, outcome)
      case StartsWith(tested, Literal(prefix: UTF8String, _)) if tested.dataType == StringType =>
        val bytes = BytesValue(prefix.getBytes)
        val wanted = Wanted.nothing.copy(ranges = ValueRanges.between(bytes, bytes.prefixSuccessor.orNull))
        val found = rowsOf(tested, if (outcome) wanted else wanted.otherValues)
        // the ranges of a column say as much as the prefix
        if (outcome && Bare.unapply(tested).isEmpty) both(found, containing(TextParts.whenTrue(condition))) else found
      case If(_, _, _) | CaseWhen(_, _) | Coalesce(_)            => rowsOf(condition, truth(outcome))
      case Bare(_) | PathColumn(_)                               => rowsOf(condition, truth(outcome))
      case c: BinaryComparison if !c.isInstanceOf[EqualNullSafe] => ofColumns(c, outcome)
      case _ =>
        val parts = if (outcome) containing(TextParts.whenTrue(condition)) else True
        both(untold(), both(parts, anyElement(ElementConditions.when(condition, outcome))))
    }

  /** Whether the condition on an element is being translated. */
  private var isInElement = false

  private def anyElement(found: Option[Expression]): Predicate =
    found.fold[Predicate](True)(condition => anyElement(when(condition, outcome = true)))

  /** Elements of elements are not translated: two variables of lambdas that are elements of one list differ. */
  private def anyElement(translated: => Predicate): Predicate =
    if (isInElement) True
    else {
      isInElement = true
      try Predicate.simplify(AnyElement(translated))
      finally isInElement = false
    }

  /** The value of a map's key, if it is not null, is a value of the map, and the key is one of its keys: S159. */
  private def ofEntry(value: Expression, wanted: Wanted): Predicate =
    value match {
      case MapEntry(map, key) if !wanted.nulls =>
        val isKey = columns.column(ElementOf(MapKeys(map))).fold[Predicate](True)(Compare(_, CompareOp.Eq, key))
        both(anyElement(isKey), anyElement(rowsOf(ElementOf(MapValues(map)), wanted)))
      case _ => True
    }

  private def containing(parts: Option[TextParts]): Predicate =
    parts.filter(p => affords(p.alternatives.size * ExpressionTranslator.EvaluationsOfParts)).fold[Predicate](True) {
      found =>
        columns
          .column(found.column)
          .filter(columns.knowsTexts)
          .fold[Predicate](True)(column => Predicate.or(found.alternatives.map(containing(column, _)): _*))
    }

  private def containing(column: ColumnRef, parts: Seq[TextPart]): Predicate =
    Predicate.and(parts.groupBy(_.ignoresCase).toSeq.sortBy(_._1).map { case (ignoresCase, same) =>
      Contains(column, same.map(_.bytes), ignoresCase)
    }: _*)

  private def untold(): Predicate = {
    doubts += 1
    True
  }

  /** Translates a comparison of two columns: SOUNDNESS, S40. */
  private def ofColumns(comparison: BinaryComparison, outcome: Boolean): Predicate = {
    val compared = for {
      left <- columns.column(unwidened(comparison.left))
      right <- columns.column(unwidened(comparison.right))
      if ColumnType.comparable(left.columnType, right.columnType)
      if !isInElement && left.mapKey.isEmpty && right.mapKey.isEmpty
    } yield (comparison, outcome) match {
      case (_: LessThan, true) | (_: GreaterThanOrEqual, false) => CompareColumns(left, CompareOp.Lt, right)
      case (_: LessThanOrEqual, true) | (_: GreaterThan, false) => CompareColumns(left, CompareOp.LtEq, right)
      case (_: GreaterThan, true) | (_: LessThanOrEqual, false) => CompareColumns(right, CompareOp.Lt, left)
      case (_: GreaterThanOrEqual, true) | (_: LessThan, false) => CompareColumns(right, CompareOp.LtEq, left)
      case (_: EqualTo, true)                                   => CompareColumns(left, CompareOp.Eq, right)
      case _                                                    => untold()
    }
    compared.getOrElse(untold())
  }

  /** Removes casts that keep value and order. */
  private def unwidened(expression: Expression): Expression =
    expression match {
      case Cast(child, LongType, _, _) if child.dataType == IntegerType => child
      case Cast(child, DoubleType, _, _) if child.dataType == FloatType => child
      case other                                                        => other
    }

  private def combine(all: Boolean, left: Predicate, right: Predicate): Predicate =
    if (all) both(left, right) else either(left, right)

  private def truth(outcome: Boolean): Wanted = Wanted.point(CatalystValues.encode(BooleanType, outcome))

  private def nullSafe(tested: Expression, value: Any, dataType: DataType, outcome: Boolean): Predicate =
    if (!CatalystValues.isOrdered(dataType)) untold()
    else {
      val same = if (value == null) Wanted.onlyNull else Wanted.point(CatalystValues.encode(dataType, value))
      rowsOf(tested, if (outcome) same else same.otherValues.copy(nulls = value != null))
    }

  private def among(tested: Expression, values: Iterable[Any], outcome: Boolean): Predicate =
    if (!CatalystValues.isOrdered(tested.dataType)) untold()
    // no value is in an empty list, not even null
    else if (!outcome && values.isEmpty) untold()
    else if (!outcome && values.exists(_ == null)) False
    else {
      val points =
        values.iterator.filter(_ != null).map(v => Wanted.point(CatalystValues.encode(tested.dataType, v))).toSeq
      val ranges = ValueRanges.of(points.iterator.flatMap(_.ranges.iterator))
      val wanted = Wanted(ranges, points.exists(_.nan), nulls = false)
      rowsOf(tested, if (outcome) wanted else wanted.otherValues)
    }

  /** Returns a predicate for the rows for which `condition` may be NULL. */
  private def whenNull(condition: Expression): Predicate =
    condition match {
      case Literal(value, _)                           => if (value == null) True else False
      case _: IsNull | _: IsNotNull | _: EqualNullSafe => False
      case Not(child)                                  => whenNull(child)
      case And(left, right)                            => combine(all = false, whenNull(left), whenNull(right))
      case Or(left, right)                             => combine(all = false, whenNull(left), whenNull(right))
      case Comparison(tested, _)                       => rowsOf(tested, Wanted.onlyNull)
      case Bare(_) | PathColumn(_)                     => rowsOf(condition, Wanted.onlyNull)
      case _                                           => untold()
    }

  /** Returns a predicate for the rows for which the value of `expression` is wanted. */
  private def rowsOf(expression: Expression, wanted: Wanted): Predicate =
    if (wanted.isEverything || exhausted()) untold()
    else
      expression match {
        case Literal(value, dataType) => ofLiteral(value, dataType, wanted)
        case Bare(_) => columns.column(expression).fold(both(untold(), ofEntry(expression, wanted)))(wanted.on)
        case PathColumn(column) => both(wanted.on(column), containing(TextParts.whenIn(expression, wanted)))
        // the first value that is not null: SOUNDNESS, S57
        case Coalesce(children) if affordsNested(children.size, wanted) =>
          children.init.foldRight(rowsOf(children.last, wanted)) { (child, rest) =>
            either(rowsOf(child, wanted.withoutNulls), both(rowsOf(child, Wanted.onlyNull), rest))
          }
        case If(condition, yes, no) =>
          either(
            both(when(condition, outcome = true), rowsOf(yes, wanted)),
            both(unless(condition), rowsOf(no, wanted)))
        case CaseWhen(branches, otherwise) if affordsNested(branches.size, wanted) =>
          val last = otherwise.fold(if (wanted.nulls) True else False: Predicate)(rowsOf(_, wanted))
          branches.foldRight(last) { case ((condition, value), rest) =>
            either(both(when(condition, outcome = true), rowsOf(value, wanted)), both(unless(condition), rest))
          }
        case condition @ (_: BinaryComparison | _: In | _: InSet | _: Not | _: And | _: Or | _: IsNull |
            _: IsNotNull) =>
          val outcomes = Seq(true, false).filter(o => wanted.holds(CatalystValues.encode(BooleanType, o)))
          val told = outcomes.map(when(condition, _)) ++ Option.when(wanted.nulls)(whenNull(condition))
          Predicate.or(told: _*)
        case function =>
          val step = TextFunctions.of(function).orElse(MonotoneFunctions.of(function))
          val told = step.filter(s => affords(s.evaluations(wanted))).fold(untold()) { s =>
            val arguments = s.preimage(wanted)
            if (!s.isExact || (arguments.ranges.isEverything && !wanted.ranges.isEverything)) doubts += 1
            rowsOf(s.child, arguments)
          }
          val ofElements = function match {
            case ElementConditions.Item(element) if !wanted.nulls => anyElement(rowsOf(element, wanted))
            case _ => anyElement(ElementConditions.whenIn(function, wanted))
          }
          both(told, both(containing(TextParts.whenIn(function, wanted)), ofElements))
      }

  /** Matches the value at a path within a value, if it is a column. */
  private object PathColumn {
    def unapply(value: Expression): Option[ColumnRef] =
      value match {
        case ValueAtPath(_, _) => columns.column(value)
        case _                 => None
      }
  }

  private def exhausted(): Boolean = {
    looks -= 1
    looks < 0
  }

  private def affords(wanted: Long): Boolean = {
    val isAffordable = wanted <= evaluations
    if (isAffordable) evaluations -= wanted
    isAffordable
  }

  /** Counts a chain of parts: each part is compared with all behind it, range by range. */
  private def affordsNested(parts: Int, wanted: Wanted): Boolean =
    affords(parts.toLong * parts * (1 + wanted.ranges.size) / ExpressionTranslator.ComparisonsAtOnce)

  private def unless(condition: Expression): Predicate = either(when(condition, outcome = false), whenNull(condition))

  private def both(left: Predicate, right: Predicate): Predicate = Predicate.andOfSimple(left, right)
  private def either(left: Predicate, right: Predicate): Predicate = Predicate.orOfSimple(left, right)

  private def ofLiteral(value: Any, dataType: DataType, wanted: Wanted): Predicate =
    if (value == null) { if (wanted.nulls) True else False }
    else if (!CatalystValues.isOrdered(dataType)) untold()
    else if (wanted.holds(CatalystValues.encode(dataType, value))) True
    else False
}

private object ExpressionTranslator {
  private val MaxLooks = 2000

  /** Some hundred milliseconds: an evaluation takes up to two microseconds. */
  private val MaxEvaluations = 200000L

  /** A list of parts is evaluated for each file, so it counts as so many evaluations. */
  private val EvaluationsOfParts = 64L

  /** So many comparisons of ranges take as long as an evaluation. */
  private val ComparisonsAtOnce = 64L
}

/** Matches expressions that may be a column, because they compute nothing. */
private[zonemap] object Bare {
  def unapply(expression: Expression): Option[Expression] =
    expression match {
      case field: GetStructField                                 => unapply(field.child).map(_ => field)
      case _: AttributeReference | _: ElementOf | MapEntry(_, _) => Some(expression)
      case _                                                     => None
    }
}
