// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions.{Cast, Concat, Expression, Literal, Substring}
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.value.BytesValue

/** The functions that convert one argument to a text from which the argument can be restricted. */
private[zonemap] object TextFunctions {

  /** Returns the function as a step; None for other functions. */
  def of(expression: Expression): Option[Step] =
    expression match {
      // S54
      case Substring(s, Constant(1), Constant(length: Int)) if s.dataType == StringType && length > 0 =>
        Some(new PrefixStep(s, length))
      case concat: Concat if concat.dataType == StringType => ofConcat(concat.children)
      // S56
      case Cast(x, StringType, _, _) if CatalystValues.isIntegral(x.dataType) => Some(new IntegerTextStep(x))
      case _                                                                  => None
    }

  /** Matches constants, then a text, then any expressions: S54, S55. */
  private def ofConcat(parts: Seq[Expression]): Option[Step] = {
    val constants = parts.iterator
      .map {
        case Constant(text: UTF8String) => Some(text.getBytes)
        case _                          => None
      }
      .takeWhile(_.isDefined)
      .flatten
      .toSeq
    parts.drop(constants.size).toList match {
      case text :: rest if text.dataType == StringType && !text.isInstanceOf[Literal] =>
        Some(new ConcatStep(text, BytesValue(constants.flatten.toArray), open = rest.nonEmpty))
      case _ => None
    }
  }
}

/** Matches a literal that is not null. */
private[expression] object Constant {
  def unapply(e: Expression): Option[Any] =
    e match {
      case Literal(value, _) => Option(value)
      case _                 => None
    }
}
