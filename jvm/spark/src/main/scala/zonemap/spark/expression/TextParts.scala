// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions.{Contains, EndsWith, Expression, Like, Literal}
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.value.BytesValue

/** Matches a condition that holds only for texts with certain parts: LIKE, contains, endswith. SOUNDNESS, S82. */
private[zonemap] object TextParts {

  /** Returns the tested expression and the parts; None if all parts are empty. */
  def unapply(condition: Expression): Option[(Expression, Seq[BytesValue])] =
    (condition match {
      case Contains(tested, Literal(part: UTF8String, _))        => Some((tested, Seq(BytesValue(part.getBytes))))
      case EndsWith(tested, Literal(part: UTF8String, _))        => Some((tested, Seq(BytesValue(part.getBytes))))
      case Like(tested, Literal(pattern: UTF8String, _), escape) => Some((tested, partsOf(pattern.toString, escape)))
      case _                                                     => None
    }).map { case (tested, parts) => (tested, parts.filter(_.bytes.nonEmpty)) }.filter { case (tested, parts) =>
      tested.dataType == StringType && parts.nonEmpty
    }

  /**
   * Returns the runs of a pattern between its wildcards; after an escape, the next character is literal. Returns no run
   * for a pattern that is an error in Spark.
   */
  private def partsOf(pattern: String, escape: Char): Seq[BytesValue] = {
    var isValid = true
    val parts = Seq.newBuilder[String]
    val part = new StringBuilder
    def end(): Unit = {
      parts += part.result()
      part.clear()
    }
    val characters = pattern.iterator
    while (characters.hasNext)
      characters.next() match {
        case `escape` =>
          val escaped = characters.nextOption().filter(c => c == '%' || c == '_' || c == escape)
          isValid &= escaped.isDefined
          escaped.foreach(part += _)
        case '%' | '_' => end()
        case other     => part += other
      }
    end()
    if (isValid) parts.result().map(text => BytesValue(UTF8String.fromString(text).getBytes)) else Nil
  }
}
