// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions.{And, AttributeReference, BinaryComparison, EqualNullSafe, Expression}
import org.apache.spark.sql.catalyst.expressions.{In, InSet, IsNaN, IsNotNull, IsNull, Literal, Not, Or, StartsWith}
import org.apache.spark.sql.types.{BooleanType, DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.predicate.{ColumnRef, False, IsNaN => ZoneIsNaN, Predicate, True, Unknown, ValueRanges}
import zonemap.core.value.{BytesValue, ZoneValue, ZoneValues}

/**
 * Translates a condition of Catalyst into a predicate that can prove that all rows of a file match.
 *
 * Comparisons of columns with literals are translated exactly, for null rows too; all other conditions become Unknown,
 * which proves nothing. So the predicate never evaluates to ALL if a row makes the condition FALSE or NULL (SOUNDNESS,
 * S95). In contrast, predicates of [[ExpressionTranslator]] may hold for more rows than the condition.
 */
private[zonemap] final class ExactTranslator(columns: ColumnResolver) {

  /** Returns a predicate that is TRUE for a row only if all `conditions` are TRUE. */
  def whenTrue(conditions: Seq[Expression]): Predicate = Predicate.and(conditions.map(when(_, outcome = true)): _*)

  private def when(condition: Expression, outcome: Boolean): Predicate =
    condition match {
      case Literal(value, BooleanType)           => if (value == outcome) True else False
      case Not(child)                            => when(child, !outcome)
      case And(left, right)                      => combine(outcome, when(left, outcome), when(right, outcome))
      case Or(left, right)                       => combine(!outcome, when(left, outcome), when(right, outcome))
      case IsNull(column: AttributeReference)    => on(column, if (outcome) Wanted.onlyNull else Wanted.notNull)
      case IsNotNull(column: AttributeReference) => on(column, if (outcome) Wanted.notNull else Wanted.onlyNull)
      case IsNaN(column: AttributeReference) =>
        on(column, if (outcome) Wanted.nothing.copy(nan = true) else Wanted.everything.copy(nan = false))
      // a comparison with NULL is NULL, never TRUE or FALSE
      case c: BinaryComparison if !c.isInstanceOf[EqualNullSafe] && c.children.exists(isNullLiteral) => False
      case Comparison(column: AttributeReference, wanted) => on(column, if (outcome) wanted else wanted.otherValues)
      case EqualNullSafe(column: AttributeReference, Literal(value, dataType)) => same(column, value, dataType, outcome)
      case EqualNullSafe(Literal(value, dataType), column: AttributeReference) => same(column, value, dataType, outcome)
      case In(column: AttributeReference, list) if list.forall(_.isInstanceOf[Literal]) =>
        among(column, list.map(_.asInstanceOf[Literal].value), outcome)
      case InSet(column: AttributeReference, set) => among(column, set, outcome)
      case StartsWith(column: AttributeReference, Literal(prefix: UTF8String, _)) if column.dataType == StringType =>
        val bytes = BytesValue(prefix.getBytes)
        val wanted = Wanted.nothing.copy(ranges = ValueRanges.between(bytes, bytes.prefixSuccessor.orNull))
        on(column, if (outcome) wanted else wanted.otherValues)
      case column: AttributeReference if column.dataType == BooleanType => on(column, point(column, outcome))
      case other                                                        => Unknown(other.getClass.getSimpleName)
    }

  private def isNullLiteral(expression: Expression): Boolean =
    expression match {
      case Literal(null, _) => true
      case _                => false
    }

  private def combine(all: Boolean, left: Predicate, right: Predicate): Predicate =
    if (all) Predicate.and(left, right) else Predicate.or(left, right)

  private def on(column: AttributeReference, wanted: Wanted): Predicate =
    columns.column(column) match {
      case None                                       => Unknown(column.name)
      case Some(found) if found.columnType.mayHoldNaN => onReals(found, wanted)
      case Some(found)                                => wanted.on(found)
    }

  /**
   * Iceberg's readers evaluate the conditions too, and may drop rows that match in Spark: NaN if a comparison is TRUE
   * for it, and -0.0 or 0.0 if one of them is the literal. The predicate proves neither.
   */
  private def onReals(column: ColumnRef, wanted: Wanted): Predicate =
    if (wanted.ranges.iterator.exists(r => ExactTranslator.Zeros(r.from) || ExactTranslator.Zeros(r.until)))
      Unknown(column.name)
    else if (!wanted.nan || wanted.ranges.isEverything) wanted.on(column)
    else
      Predicate.or(wanted.copy(nan = false).on(column), Predicate.and(ZoneIsNaN(column), Unknown(column.name)))

  private def point(column: AttributeReference, value: Any): Wanted =
    Wanted.point(CatalystValues.encode(column.dataType, value))

  private def same(column: AttributeReference, value: Any, dataType: DataType, outcome: Boolean): Predicate =
    if (value == null) on(column, if (outcome) Wanted.onlyNull else Wanted.notNull)
    else if (!CatalystValues.isOrdered(dataType) || column.dataType != dataType) Unknown(column.name)
    else on(column, if (outcome) point(column, value) else point(column, value).otherValues.copy(nulls = true))

  /** With NULL in the list, NOT IN is never TRUE, and IN is TRUE for the same values as without it. */
  private def among(column: AttributeReference, values: Iterable[Any], outcome: Boolean): Predicate =
    if (!CatalystValues.isOrdered(column.dataType)) Unknown(column.name)
    else if (!outcome && values.exists(_ == null)) False
    else {
      val points = values.iterator.filter(_ != null).map(point(column, _)).toSeq
      val wanted =
        Wanted(ValueRanges.of(points.iterator.flatMap(_.ranges.iterator)), points.exists(_.nan), nulls = false)
      on(column, if (outcome) wanted else wanted.otherValues)
    }
}

private object ExactTranslator {

  /** The ends of ranges that separate zero from other values. */
  private val Zeros: Set[ZoneValue] = {
    val zero = ZoneValues.ofDouble(0)
    Set(zero, ValueRanges.successor(zero))
  }
}
