// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.shadow

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types._

import zonemap.spark.expression.{MinorExpressions, NestedTypes}
import zonemap.spark.scan.SparkMinor

/**
 * Replaces what depends on the order in which floating-point numbers are added or compared. This order depends on how
 * files are split and read, so two correct runs may differ: in the last digits of a sum, in all digits if its numbers
 * cancel out, and in the sign of a zero that is the least or greatest number (SOUNDNESS, S140).
 */
private[shadow] object OrderFree {

  /**
   * Returns a plan with a hash of the added numbers in place of each sum, average and deviation. The hash is another
   * number than the sum, but two runs have the same one if they add the same numbers, in any order.
   */
  def of(plan: LogicalPlan): LogicalPlan =
    plan.transformUpWithSubqueries { case node =>
      node.transformExpressionsUp { case aggregate: AggregateExpression => orderFree(aggregate) }
    }

  private def orderFree(aggregate: AggregateExpression): Expression =
    aggregate.aggregateFunction match {
      case sum: Sum if isFloating(sum.dataType)             => hashOf(aggregate, sum.child)
      case average: Average if isFloating(average.dataType) => hashOf(aggregate, average.child)
      case moment: CentralMomentAgg                         => hashOf(aggregate, moment.child)
      case _: Min | _: Max                                  => withoutSignOfZero(aggregate)
      case _                                                => aggregate
    }

  /** Whether the plan makes values whose size depends on a number, which may be another one in place of a sum. */
  def isOfAnySize(plan: LogicalPlan): Boolean = {
    var found = false
    SparkMinor.foreachWithSubqueries(plan) { node =>
      found ||= node.expressions.exists(_.exists {
        case _: StringRepeat | _: StringSpace | _: StringLPad | _: StringRPad | _: ArrayRepeat | _: Sequence => true
        case _: FormatString | _: FormatNumber | _: ArrayInsert | _: BinaryPad                               => true
        case _                                                                                               => false
      })
    }
    found
  }

  /** The same number without the sign of a zero. */
  private def withoutSignOfZero(number: Expression): Expression =
    if (isFloating(number.dataType)) Add(number, Cast(Literal(0), number.dataType)) else number

  /** Whether values of the type that compare as equal are the same, except for the sign of a zero of a number itself. */
  def isDistinguished(dataType: DataType): Boolean =
    isFloating(dataType) || MinorExpressions.isBinaryStable(dataType) && !NestedTypes.contains(dataType)(isFloating)

  /** A number from 0 to 1, because functions of a great number may take long and need much memory. */
  private def hashOf(aggregate: AggregateExpression, child: Expression): Expression = {
    val hash = Pmod(new XxHash64(Seq(child)), Literal(Hashes))
    val sum = aggregate.copy(aggregateFunction = Sum(If(IsNull(child), Literal(null, LongType), hash)))
    Divide(Cast(Pmod(sum, Literal(Hashes)), DoubleType), Literal(Hashes.toDouble))
  }

  /** So many hashes have an exact sum, and are exact as doubles. */
  private val Hashes = 1L << 24

  private def isFloating(dataType: DataType): Boolean = dataType == DoubleType || dataType == FloatType
}
