package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions._

/**
 * Expressions that are Spark's own functions of their arguments, as far as its interpreter computes them: the planner
 * evaluates nothing else. Code of users and libraries is not among them, nor what looks at a session, a clock or a task,
 * nor what makes values of any size out of small ones.
 */
private[expression] object BuiltIn {

  def apply(expression: Expression): Boolean = expression.deterministic && !expression.exists(!isKnown(_))

  private def isKnown(expression: Expression): Boolean =
    expression match {
      case _: Literal => true
      // code that may be anything, whatever it says of itself; and plans within plans
      case _: UserDefinedExpression | _: ApplyFunctionExpression | _: PlanExpression[_] => false
      // functions of lambdas keep what they are at in themselves
      case _: Unevaluable | _: HigherOrderFunction => false
      // as large as their arguments say
      case _: StringRepeat | _: StringSpace | _: StringLPad | _: StringRPad | _: ArrayRepeat | _: Sequence => false
      case _: FormatNumber | _: FormatString                                                               => false
      // as long to compute
      case rounded: RoundBase if !isRoundedNear(rounded.right) => false
      // what is constant and not a literal by now depends on the session or the clock, or fails
      case constant if constant.foldable => false
      case other                         => other.getClass.getPackageName == Package
    }

  /** Whether a number is rounded to a digit that doubles and decimals have: powers of ten beyond cost what they please. */
  def isRoundedNear(scale: Expression): Boolean =
    scale match {
      case Constant(digits: Int) => -MaxDigits <= digits && digits <= MaxDigits
      case _                     => false
    }

  private val MaxDigits = 400

  private val Package = classOf[Expression].getPackageName
}
