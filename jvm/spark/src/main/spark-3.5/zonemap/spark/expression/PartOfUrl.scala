// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions.{Expression, ParseUrl}

/** Matches a part of a URL that is null if the text is not a URL; returns the arguments of the function. */
private[expression] object PartOfUrl {
  def unapply(part: Expression): Option[Seq[Expression]] =
    part match {
      case url: ParseUrl if !url.failOnError => Some(url.children)
      case _                                 => None
    }
}
