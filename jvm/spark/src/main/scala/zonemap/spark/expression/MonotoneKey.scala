// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import scala.annotation.tailrec
import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, GenericInternalRow}
import org.apache.spark.sql.types.{DataType, DoubleType, FloatType}

import zonemap.core.predicate.{ColumnRef, ValueRanges}
import zonemap.core.value.{LongValue, ZoneValue}
import zonemap.iceberg.answer.GroupKey
import zonemap.iceberg.trust.KeyFunction

/**
 * A monotone function of one column by which a query groups, such as `date(ts)`, in the time zone of the session.
 *
 * All values between two bounds have the result `v` if the lower bound has it and neither bound nor a value between
 * them is in the preimage of all other results. The preimage of [[Step]] is never too small: SOUNDNESS, S107.
 *
 * @param function the function of a row with the column
 * @param steps the functions from the outermost to the one of the column
 */
private[expression] final class MonotoneKey(function: Expression, steps: Seq[Step], columnType: DataType)
    extends KeyFunction {
  private val row = new GenericInternalRow(1)

  /** The column's values that may have another result, by result. */
  private val others = mutable.HashMap.empty[ZoneValue, ValueRanges]

  override def single(lower: ZoneValue, upper: ZoneValue): Option[ZoneValue] =
    for {
      first <- result(lower)
      last <- result(upper)
      if first != null && first == last
      excluded <- othersOf(first)
      if !excluded.intersects(lower, upper)
    } yield first

  override lazy val ofNull: Option[ZoneValue] = result(null)

  /** Returns `None` if preimages of too many results were computed before. */
  private def othersOf(result: ZoneValue): Option[ValueRanges] =
    others
      .get(result)
      .orElse(Option.when(others.size < MonotoneKey.MaxPreimages) {
        val found = otherThan(result)
        others.put(result, found)
        found
      })

  private def otherThan(value: ZoneValue): ValueRanges =
    preimage(Wanted.point(Encoded.Value(value)).otherValues.copy(nulls = true)).ranges

  /** Returns at least the column's values with a wanted result. */
  def preimage(wanted: Wanted): Wanted = steps.foldLeft(wanted)((results, step) => step.preimage(results))

  /** Whether all functions together keep (true) or reverse (false) the order; `None` if neither is known. */
  def increasing: Option[Boolean] =
    steps.foldLeft(Option(true))((order, step) => order.flatMap(o => step.increasing.map(_ == o)))

  /** Returns the result for one value of the column; null for NULL, `None` if there is none. */
  def result(value: ZoneValue): Option[ZoneValue] =
    try {
      row.update(0, decoded(value))
      CatalystValues.encode(function.dataType, function.eval(row)) match {
        case Encoded.Null         => Some(null)
        case Encoded.NaN          => None
        case Encoded.Value(found) => Some(found)
      }
    } catch { case NonFatal(_) => None }

  private def decoded(value: ZoneValue): Any =
    value match {
      case null => null
      case LongValue(encoded) =>
        val decoded = CatalystValues.decode(columnType, encoded)
        require(CatalystValues.encode(columnType, decoded) == Encoded.Value(value), s"$value is not a $columnType")
        decoded
      case other => throw new IllegalArgumentException(s"$other is not a $columnType")
    }
}

private[zonemap] object MonotoneKey {

  /**
   * Preimages that one query computes for one key. Each takes hundreds of evaluations, and 10,000 of them about a second.
   */
  private[expression] val MaxPreimages = 10000

  /** Returns the key of an expression, if it consists of monotone functions of one column and literals. */
  def of(expression: Expression, columns: ColumnResolver, text: String): Option[GroupKey] =
    functionOf(expression, columns).map { case (column, function) => GroupKey(column, Some(function), text) }

  private[expression] def functionOf(
      expression: Expression,
      columns: ColumnResolver): Option[(ColumnRef, MonotoneKey)] =
    for {
      (steps, bare) <- stepsOf(expression, Nil)
      if steps.nonEmpty && isKey(expression.dataType) && isKey(bare.dataType) && CatalystValues.isLong(bare.dataType)
      column <- columns.column(bare)
      if column.mapKey.isEmpty
      bound = expression.transformDown {
        case part if part.semanticEquals(bare) => BoundReference(0, bare.dataType, nullable = true)
      }
      if bound.references.isEmpty && CheapFunctions.areAllOf(bound)
    } yield (column, new MonotoneKey(bound.freshCopyIfContainsStatefulExpression(), steps, bare.dataType))

  /** Floats and doubles are not keys: the two zeros are one group, and NaN is another. */
  private def isKey(dataType: DataType): Boolean =
    CatalystValues.isOrdered(dataType) && dataType != FloatType && dataType != DoubleType

  @tailrec
  private def stepsOf(expression: Expression, outer: Seq[Step]): Option[(Seq[Step], Expression)] =
    expression match {
      case Bare(_) => Some((outer, expression))
      case function =>
        TextFunctions.of(function).orElse(MonotoneFunctions.of(function)) match {
          case Some(step) => stepsOf(step.child, outer :+ step)
          case None       => None
        }
    }
}
