// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.catalyst.expressions.url.ParseUrlEvaluator

/** Matches a part of a URL that is null if the text is not a URL; returns the arguments of the function. */
private[expression] object PartOfUrl {
  def unapply(part: Expression): Option[Seq[Expression]] =
    part match {
      case call: Invoke if call.functionName == "evaluate" =>
        call.targetObject match {
          case Literal(parser: ParseUrlEvaluator, _) if !parser.failOnError => Some(call.arguments)
          case _                                                            => None
        }
      case _ => None
    }
}
