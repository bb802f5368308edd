// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.value.BytesValue

/** The functions whose result is null, empty or a piece of one of their arguments, and that never fail: SOUNDNESS, S153. */
private[expression] object TextPieces {

  /** Returns the argument, whose collation is that of the result. */
  def unapply(piece: Expression): Option[Expression] =
    piece match {
      case s: Substring if s.children.tail.forall(neverFails)      => Some(s.children.head)
      case s: SubstringIndex if s.children.tail.forall(neverFails) => Some(s.children.head)
      case t @ (_: StringTrim | _: StringTrimLeft | _: StringTrimRight) if t.children.tail.forall(neverFails) =>
        Some(t.children.head)
      case _ => None
    }

  /** Matches those that Spark cuts from a Java string; returns the parts of the text too if the result is not empty. */
  object Decoded {
    def unapply(piece: Expression): Option[(Expression, Seq[BytesValue])] =
      piece match {
        // every text has a first and a last element; other elements that are missing are an error in ANSI mode
        case GetArrayItem(Elements(text), Constant(at: Int), fails) if !fails || at == 0 => Some((text, Nil))
        case ElementAt(Elements(text), Constant(at: Int), default, fails)
            if at != 0 && (!fails || at.abs == 1) && default.forall(isEmpty) =>
          Some((text, Nil))
        case RegExpExtract(text, Pattern(pattern), Constant(group: Int)) if 0 <= group && group <= pattern.groups =>
          Some((text, pattern.parts))
        case PartOfUrl(Seq(url, part)) if neverFails(part)                => Some((url, Nil))
        case PartOfUrl(Seq(url, part, NameInQuery())) if neverFails(part) => Some((url, Nil))
        case _                                                            => None
      }
  }

  /** Matches a name of a query that has no meaning in a pattern: Spark makes a pattern of it, which can be an error. */
  private object NameInQuery {
    def unapply(name: Expression): Boolean =
      name match {
        case Constant(text: UTF8String) => text.toString.matches("\\w+")
        case _                          => false
      }
  }

  private def neverFails(argument: Expression): Boolean =
    argument.isInstanceOf[Literal] || Bare.unapply(argument).isDefined

  private def isEmpty(text: Literal): Boolean =
    text.value match {
      case value: UTF8String => value.numBytes == 0
      case _                 => false
    }

  /** Matches an array of at least one piece of a text. */
  object Elements {
    def unapply(array: Expression): Option[Expression] =
      array match {
        case StringSplit(text, Pattern(_), Constant(_)) => Some(text)
        case StringSplitSQL(text, Constant(_))          => Some(text)
        case _                                          => None
      }
  }

  /** Matches a pattern that Spark does not refuse. */
  object Pattern {
    def unapply(literal: Expression): Option[RegexParts] =
      literal match {
        case Constant(text: UTF8String) => RegexParts.of(text.toString)
        case _                          => None
      }
  }
}
