// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions._

/**
 * Matches Spark's own functions that the planner may evaluate with Spark's interpreter. It rejects code of users and
 * libraries, and functions that depend on a session, a clock or a task. [[EvaluationWork]] limits the work of the others.
 */
private[expression] object BuiltIn {

  def apply(expression: Expression): Boolean = expression.deterministic && !expression.exists(!isKnown(_))

  private def isKnown(expression: Expression): Boolean =
    expression match {
      case _: Literal => true
      // code of users, even if it claims to be deterministic, and subqueries
      case _: UserDefinedExpression | _: ApplyFunctionExpression | _: PlanExpression[_] => false
      // higher-order functions have mutable state
      case _: Unevaluable | _: HigherOrderFunction => false
      case _: BoundReference                       => true
      // the computing time depends on an argument
      case rounded: RoundBase if !isRoundedNear(rounded.right) => false
      // rows may be evaluated under other confs
      case function if LateConfs.readsOthers(function) => false
      // a constant that is still not a literal depends on the session or the clock, or fails
      case constant if constant.foldable => false
      case other                         => other.getClass.getPackageName == Package
    }

  /** True if a number is rounded to a digit that doubles and decimals have; other powers of ten may take very long. */
  def isRoundedNear(scale: Expression): Boolean =
    scale match {
      case Constant(digits: Int) => -MaxDigits <= digits && digits <= MaxDigits
      case _                     => false
    }

  private val MaxDigits = 400

  private val Package = classOf[Expression].getPackageName
}
