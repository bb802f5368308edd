// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions.{ArrayContains, Contains, EndsWith, Expression, Like, LikeAll, LikeAny}
import org.apache.spark.sql.catalyst.expressions.{RegExpExtractAll, RegExpInStr, RLike, Size, StartsWith, StringInstr}
import org.apache.spark.sql.catalyst.expressions.StringLocate
import org.apache.spark.sql.types.{IntegerType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.value.BytesValue

/**
 * Parts that the text of a column contains.
 *
 * @param alternatives lists of parts, none of them empty; the text has all parts of at least one list
 */
private[zonemap] final case class TextParts(column: Expression, alternatives: Seq[Seq[TextPart]])

/** Finds the conditions that hold only for texts with certain parts. SOUNDNESS, S82, S153 to S155 and S164. */
private[zonemap] object TextParts {

  /** Returns the parts of the texts for which a condition is TRUE; None if it needs none. */
  def whenTrue(condition: Expression): Option[TextParts] =
    condition match {
      case Contains(text, Constant(part: UTF8String))   => of(text, Seq(bytes(part)))
      case StartsWith(text, Constant(part: UTF8String)) => of(text, Seq(bytes(part)))
      case EndsWith(text, Constant(part: UTF8String))   => of(text, Seq(bytes(part)))
      case ArrayContains(TextPieces.Elements(text), Constant(part: UTF8String)) =>
        of(text, DecodedText.certain(part.toString))
      case Like(text, Constant(pattern: UTF8String), escape) => of(text, partsOf(pattern.toString, escape))
      case LikeAll(text, patterns) if !patterns.contains(null) =>
        of(text, patterns.flatMap(pattern => partsOf(pattern.toString, DefaultEscape)))
      case LikeAny(text, patterns) if !patterns.contains(null) && patterns.size <= MaxAlternatives =>
        anyOf(patterns.map(pattern => of(text, partsOf(pattern.toString, DefaultEscape))))
      case RLike(text, TextPieces.Pattern(pattern)) => of(text, pattern.parts)
      case _                                        => None
    }

  /** Returns the parts of the texts for which the value of a function is wanted; None if it needs none. */
  def whenIn(function: Expression, wanted: Wanted): Option[TextParts] =
    function match {
      case _ if wanted.nulls                                                => None
      case StringInstr(text, Constant(part: UTF8String)) if isFound(wanted) => of(text, Seq(bytes(part)))
      case StringLocate(Constant(part: UTF8String), text, Constant(_)) if isFound(wanted) =>
        of(text, Seq(bytes(part)))
      case RegExpInStr(text, TextPieces.Pattern(pattern), Constant(0)) if isFound(wanted) => of(text, pattern.parts)
      case Size(RegExpExtractAll(text, TextPieces.Pattern(pattern), Constant(0)), isLegacy)
          if isFound(wanted) && !(isLegacy && wanted.holds(SizeOfNull)) =>
        of(text, pattern.parts)
      case text if text.dataType == StringType && !wanted.holds(Empty) => ofText(text, wanted)
      case _                                                           => None
    }

  /** Returns the parts of the texts of a column for which a text that was made of them is wanted, which is not empty. */
  private def ofText(text: Expression, wanted: Wanted): Option[TextParts] = {
    val ranges = wanted.ranges.iterator.take(MaxAlternatives + 1).toSeq
    val points = ranges.filter(_.isPoint).map(_.from).collect { case value: BytesValue => value }
    if (points.isEmpty || points.size > MaxAlternatives || points.size < ranges.size)
      ofPiece(text, Seq(Nil), isWhole = false)
    else anyOf(points.map(point => ofPiece(text, Seq(Seq(TextPart(point))), isWhole = true)))
  }

  /** Joins the parts of alternatives about one text. A text of which an alternative needs no part can be any text. */
  private def anyOf(each: Seq[Option[TextParts]]): Option[TextParts] =
    each.flatten.headOption
      .filter(_ => each.forall(_.isDefined))
      .map(_.copy(alternatives = each.flatten.flatMap(_.alternatives).distinct))

  /** The escape of LIKE ANY and LIKE ALL. */
  private val DefaultEscape = '\\'

  /** A condition with more texts is not searched for parts. */
  private val MaxAlternatives = 1000

  /** Whether only positions or numbers of matches are wanted that a text without a match does not have. */
  private def isFound(wanted: Wanted): Boolean = !wanted.holds(CatalystValues.encode(IntegerType, 0))

  private val SizeOfNull = CatalystValues.encode(IntegerType, -1)
  private val Empty = CatalystValues.encode(StringType, UTF8String.EMPTY_UTF8)

  private def bytes(part: UTF8String): BytesValue = BytesValue(part.getBytes)

  private def of(text: Expression, parts: Seq[BytesValue]): Option[TextParts] = {
    val needed = parts.filter(_.bytes.nonEmpty)
    if (needed.isEmpty || text.dataType != StringType) None
    else ofPiece(text, Seq(needed.map(TextPart(_))), isWhole = false)
  }

  /**
   * Returns the parts of the texts of a column for which `piece` has all parts of an alternative, and is not empty.
   *
   * @param isWhole whether each alternative is one part, which is the whole piece
   */
  @tailrec
  private def ofPiece(piece: Expression, alternatives: Seq[Seq[TextPart]], isWhole: Boolean): Option[TextParts] =
    piece match {
      case TextPieces.Decoded(text, needed) =>
        def certain(part: TextPart) = DecodedText.certain(part.bytes.utf8).map(TextPart(_, part.ignoresCase))
        ofPiece(text, alternatives.map(_.flatMap(certain) ++ needed.map(TextPart(_))), isWhole = false)
      case JsonText(json)   => ofPiece(json, alternatives.flatMap(JsonText.sources(_, isWhole)), isWhole = false)
      case TextPieces(text) => ofPiece(text, alternatives, isWhole = false)
      case CaseMapping(text, mapping) =>
        ofPiece(text, alternatives.map(_.flatMap(mapping.sources)), isWhole = false)
      case column => Option.when(alternatives.forall(_.nonEmpty))(TextParts(column, alternatives))
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
    if (isValid) parts.result().flatMap(DecodedText.certain) else Nil
  }
}
