// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, Literal}

/**
 * Limits the work of a condition that is evaluated while a query is planned: SOUNDNESS, S63. The driver cannot
 * interrupt Spark's interpreter, and no row may ever reach the condition, so that the query without the product is fast.
 *
 * The work is estimated from above by the sizes of texts, with the [[FunctionWork]] of each function. Not thread-safe.
 *
 * @param times how often the condition is evaluated for each value
 * @param budget the steps that all conditions of a scan may take
 */
private[expression] final class EvaluationWork(bound: Expression, times: => Int, budget: EvaluationBudget) {
  private val known = mutable.HashMap.empty[Int, Double]

  /** Steps to estimate the work for one more length. */
  private lazy val estimating = bound.collect { case function => function }.size * EvaluationWork.StepsOfAnEstimate

  /** True if the condition may be evaluated once more, for texts of `length` bytes together; counts the evaluation. */
  def affords(length: Int): Boolean =
    (known.contains(length) || budget.spend(estimating)) &&
      budget.spend(known.getOrElseUpdate(length, times * EvaluationWork.steps(bound, length)))
}

private[expression] object EvaluationWork {

  /** For each function of a condition. */
  private val StepsOfAnEstimate = 20.0

  /**
   * False if few evaluations are too much work, also those of empty texts, or if the work of a function is not known.
   * Then the literals are not long either, which become a part of the digest of the condition.
   */
  def isAffordable(bound: Expression): Boolean = steps(bound, length = 0) <= EvaluationBudget.MaxSteps / 10

  private def steps(bound: Expression, length: Int): Double = estimate(bound, length.toDouble).steps

  /** The greatest steps of one evaluation, and the greatest size of its result. */
  private[expression] final case class Estimate(steps: Double, size: Double)

  /** The work of one evaluation for columns whose texts have `length` bytes together. */
  private[expression] def estimate(e: Expression, length: Double): Estimate =
    e match {
      case Literal(value, dataType) => Estimate(0, FunctionWork.sizeOf(value, dataType))
      case column: BoundReference =>
        Estimate(0, if (FunctionWork.isFixed(column.dataType)) FunctionWork.FixedSize else length + 1)
      case function =>
        FunctionWork.of(function).fold(Estimate(Double.PositiveInfinity, Double.PositiveInfinity)) { work =>
          val arguments = function.children.map(estimate(_, length))
          val sizes = arguments.map(_.size)
          val size = if (FunctionWork.isFixed(function.dataType)) FunctionWork.FixedSize else work.size(sizes)
          Estimate(arguments.map(_.steps).sum + sizes.sum + work.steps(sizes) + size, size)
        }
    }
}

/** The steps that the conditions of one scan may take together while it is planned. Thread-safe. */
private[zonemap] final class EvaluationBudget {
  private var spent = 0.0

  /** True if an evaluation of so many steps may be made; counts it. */
  private[expression] def spend(steps: Double): Boolean = synchronized {
    val isAffordable = steps <= EvaluationBudget.MaxSteps && spent + steps <= EvaluationBudget.MaxTotal
    if (isAffordable) spent += steps
    isAffordable
  }
}

private[zonemap] object EvaluationBudget {

  /** Limit of one evaluation: some milliseconds, and of the texts that it makes. */
  private[expression] val MaxSteps = 1e7

  /** Limit of all evaluations of a scan: about a second. */
  private val MaxTotal = 1e8
}
