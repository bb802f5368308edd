// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions.{Expression, Lower, Upper}

import zonemap.core.value.{AsciiCase, BytesValue}

/** A part that a text has, not empty; if `ignoresCase` is true, with any case of its letters from A to Z. */
private[zonemap] final case class TextPart(bytes: BytesValue, ignoresCase: Boolean = false)

/**
 * A function that changes the case of letters: SOUNDNESS, S155.
 *
 * @param letters the letters from a to z that the function makes of their two cases only, in each language. It makes
 *   the other characters of ASCII of themselves only.
 */
private[expression] final class CaseMapping private (letters: String) {

  /** Returns the parts of the texts of which the function makes a text with this part. */
  def sources(part: TextPart): Seq[TextPart] =
    if (part.ignoresCase) Nil
    else {
      val runs = part.bytes.bytes.foldLeft(List(Vector.empty[Byte])) { (found, byte) =>
        if (isCertain(byte)) (found.head :+ byte) :: found.tail else Vector.empty[Byte] :: found
      }
      runs.reverse.filter(_.nonEmpty).map(run => TextPart(BytesValue(run.toArray), ignoresCase = true))
    }

  private[expression] def isCertain(byte: Byte): Boolean =
    byte >= 0 && (!AsciiCase.isLetter(byte) || letters.indexOf(AsciiCase.lower(byte).toInt) >= 0)
}

private[expression] object CaseMapping {

  /** An i is also made of a dotted capital I, and a k of the sign of Kelvin. */
  val ToLower: CaseMapping = new CaseMapping("abcdefghjlmnopqrstuvwxyz")

  /** Others are also made of a ligature, of a letter with a mark that has no capital, or of a dotless i. */
  val ToUpper: CaseMapping = new CaseMapping("bcdegkmopqruvxz")

  /** Matches a change of case; returns its argument, whose collation is that of the result. */
  def unapply(text: Expression): Option[(Expression, CaseMapping)] =
    text match {
      case Lower(argument) => Some((argument, ToLower))
      case Upper(argument) => Some((argument, ToUpper))
      case _               => None
    }
}
