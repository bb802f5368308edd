package zonemap.spark.expression

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Limits the work of a condition that is evaluated while a query is planned: SOUNDNESS, S63. The driver cannot
 * interrupt Spark's interpreter, and no row may ever reach the condition, so that the query without the product is fast.
 *
 * The work is estimated from above by the sizes of texts: each function costs the size of its result, and a pattern
 * costs what its backtracking may cost. Not thread-safe.
 */
private[expression] final class EvaluationWork(bound: Expression) {
  import EvaluationWork._

  private val known = mutable.HashMap.empty[Int, Double]
  private var spent = 0.0

  /** True if the condition may be evaluated once more, for texts of `length` bytes together; counts the evaluation. */
  def affords(length: Int): Boolean = {
    val next = known.getOrElseUpdate(length, steps(bound, length.toDouble))
    val isAffordable = next <= MaxSteps && spent + next <= MaxTotal
    if (isAffordable) spent += next
    isAffordable
  }
}

private[expression] object EvaluationWork {

  /** Limit of one evaluation: some milliseconds, and of texts that it makes. */
  private val MaxSteps = 1e7

  /** Limit of all evaluations of a condition: about a second. */
  private val MaxTotal = 1e8

  /** False for patterns that are no literals, or whose work may grow exponentially: they are not evaluated at all. */
  def isBounded(function: Expression): Boolean = matching(function).forall(_._2.isDefined)

  /** The steps of one evaluation for columns whose texts have `length` bytes together. */
  private def steps(e: Expression, length: Double): Double = {
    def of(child: Expression) = size(child, length)
    val patterns = matching(e).map { case (subject, work) =>
      work.fold(Double.PositiveInfinity)(_.steps(of(subject)))
    }
    val own = e match {
      case distance: Levenshtein => of(distance.left) * of(distance.right)
      case _                     => patterns.sum
    }
    own + of(e) + e.children.map(steps(_, length)).sum
  }

  /** The greatest size of the result, in bytes; of a text of a column, all texts together. */
  private def size(e: Expression, length: Double): Double = {
    def children = e.children.map(size(_, length)).sum
    if (hasFixedSize(e.dataType)) FixedBytes
    else
      e match {
        case Literal(text: UTF8String, _)   => text.numBytes.toDouble
        case Literal(bytes: Array[Byte], _) => bytes.length.toDouble
        case Literal(other, _)              => String.valueOf(other).length.toDouble
        case _: BoundReference              => length
        case replaced: StringReplace => (size(replaced.srcExpr, length) + 1) * (size(replaced.replaceExpr, length) + 1)
        case replaced: RegExpReplace => (size(replaced.subject, length) + 1) * (size(replaced.rep, length) + 1)
        case _: Concat | _: Coalesce | _: If | _: CaseWhen | _: Substring | _: String2TrimExpression => children
        case _ => GrowthFactor * (children + FixedBytes)
      }
  }

  private def hasFixedSize(dataType: DataType): Boolean =
    dataType match {
      case _: NumericType | BooleanType | DateType | TimestampType | TimestampNTZType => true
      case _                                                                          => false
    }

  private val FixedBytes = 16.0

  /** No other function makes a text longer than this many times its arguments: `hex`, `upper`, `encode`. */
  private val GrowthFactor = 4.0

  /** The texts in which a function finds patterns, each with the work of its pattern; `None` if it has no bound. */
  private def matching(e: Expression): Seq[(Expression, Option[PatternWork])] =
    e match {
      case RLike(subject, pattern)               => Seq(subject -> regex(pattern))
      case RegExpReplace(subject, pattern, _, _) => Seq(subject -> regex(pattern))
      case RegExpExtract(subject, pattern, _)    => Seq(subject -> regex(pattern))
      case RegExpExtractAll(subject, pattern, _) => Seq(subject -> regex(pattern))
      case RegExpInStr(subject, pattern, _)      => Seq(subject -> regex(pattern))
      case StringSplit(subject, pattern, _)      => Seq(subject -> regex(pattern))
      case Like(subject, pattern, _)             => Seq(subject -> textOf(pattern).map(PatternWork.ofLike))
      case LikeAll(subject, patterns)            => likes(subject, patterns)
      case NotLikeAll(subject, patterns)         => likes(subject, patterns)
      case LikeAny(subject, patterns)            => likes(subject, patterns)
      case NotLikeAny(subject, patterns)         => likes(subject, patterns)
      case _: StringRegexExpression | _: RegExpExtractBase | _: ParseUrl => Seq(e -> None)
      case _                                                             => Nil
    }

  private def regex(pattern: Expression): Option[PatternWork] = textOf(pattern).flatMap(PatternWork.ofRegex)

  private def likes(subject: Expression, patterns: Seq[UTF8String]): Seq[(Expression, Option[PatternWork])] =
    patterns.filter(_ != null).map(pattern => subject -> Some(PatternWork.ofLike(pattern.toString)))

  private def textOf(e: Expression): Option[String] =
    e match {
      case Literal(text: UTF8String, _) => Some(text.toString)
      case _                            => None
    }
}
