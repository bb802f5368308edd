// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import java.util.regex.Pattern

import scala.util.Try

import zonemap.core.value.BytesValue

/**
 * A pattern of `java.util.regex`.
 *
 * @param groups the number of its groups
 * @param parts its literal parts, none of them empty: each text in which the pattern is found contains all of them
 */
private[expression] final case class RegexParts(groups: Int, parts: Seq[BytesValue])

/** Finds the literal parts of patterns: SOUNDNESS, S154. A pattern with syntax that is not listed here has no parts. */
private[expression] object RegexParts {

  /** Returns what is certain of a pattern; None if Spark refuses it, or if it is long. */
  def of(pattern: String): Option[RegexParts] =
    Option
      .when(pattern.length <= MaxLength)(pattern)
      .flatMap(p => Try(Pattern.compile(p).matcher("").groupCount).toOption)
      .map { groups =>
        val parts = if (Quotes.exists(pattern.contains(_))) Nil else new RegexReader(pattern.codePoints.toArray).parts
        RegexParts(groups, parts.flatMap(DecodedText.certain))
      }

  private val MaxLength = 1000

  /** Quotes have a syntax of their own. */
  private val Quotes = Seq("\\Q", "\\E")

  /** Escaped letters that stand for one of several characters, or for a place. */
  val Classes = "dDwWsSbBAzZGhHvVR".map(_.toInt).toSet

  /** Escaped letters within brackets that are not followed by a character with a meaning of its own. */
  val ClassesInBrackets = "dDwWsShHvVpPtnrf".map(_.toInt).toSet

  def isPunctuation(c: Int): Boolean = c > ' ' && c < 0x7f && !Character.isLetterOrDigit(c)
}

/** @param pattern the characters of a pattern that compiles */
private final class RegexReader(pattern: Array[Int]) {
  import RegexParts._

  private var at = 0
  private var isKnown = true

  def parts: Seq[String] = {
    val found = sequence()
    if (isKnown && at == pattern.length) found else Nil
  }

  private def is(c: Char, ahead: Int = 0): Boolean = at + ahead < pattern.length && pattern(at + ahead) == c

  private def unknown(): Unit = {
    isKnown = false
    at = pattern.length
  }

  /** Reads to the end of a group and returns its parts; none if it has alternatives. */
  private def sequence(): Seq[String] = {
    val found = Seq.newBuilder[String]
    val run = new java.lang.StringBuilder
    var hasAlternatives = false
    def end(): Unit = {
      if (run.length > 0) found += run.toString
      run.setLength(0)
    }
    def literal(c: Int): Unit = {
      val isLast = isQuantified
      if (occurs()) run.appendCodePoint(c)
      if (isLast) end()
    }
    def other(): Unit = {
      end()
      val _ = occurs()
    }
    while (at < pattern.length && !is(')')) {
      val c = pattern(at)
      c match {
        case '|' =>
          hasAlternatives = true
          at += 1
        case '(' =>
          end()
          val inner = group()
          if (occurs()) found ++= inner
        case '[' =>
          brackets()
          other()
        case '.' | '^' | '$' =>
          at += 1
          other()
        // Java lets a repetition without anything before it match nothing
        case '{' | '?' | '*' | '+' => unknown()
        case '\\' =>
          val escaped = if (at + 1 < pattern.length) pattern(at + 1) else -1
          at += 2
          if (isPunctuation(escaped)) literal(escaped) else if (Classes(escaped)) other() else unknown()
        case _ =>
          at += 1
          literal(c)
      }
    }
    end()
    if (hasAlternatives) Nil else found.result()
  }

  private def isQuantified: Boolean = is('?') || is('*') || is('+') || is('{')

  /** Reads the quantifier of what was read last, if there is one; false if that may be missing. */
  private def occurs(): Boolean = {
    val isOptional = is('?') || is('*') || is('{')
    if (isQuantified) {
      at = if (is('{')) behind('}') else at + 1
      if (is('?') || is('+')) at += 1 // reluctant, possessive
    }
    !isOptional
  }

  /** Returns the place behind the next such character. */
  private def behind(c: Char): Int = {
    val found = pattern.indexOf(c.toInt, at)
    if (found < 0) unknown()
    if (found < 0) pattern.length else found + 1
  }

  /** Reads a group and returns its parts; none if the group only looks ahead or behind. */
  private def group(): Seq[String] = {
    var isRead = true
    if (!is('?', 1)) at += 1
    else if (is(':', 2)) at += 3
    else if (is('<', 2) && !is('=', 3) && !is('!', 3)) at = behind('>')
    else if (is('=', 2) || is('!', 2) || is('<', 2) || is('>', 2)) {
      isRead = false
      at += (if (is('<', 2)) 4 else 3)
    } else unknown() // flags, which change what follows
    val inner = sequence()
    if (is(')')) at += 1 else unknown()
    if (isRead) inner else Nil
  }

  private def brackets(): Unit = {
    at += (if (is('^', 1)) 2 else 1)
    if (is(']')) unknown()
    while (at < pattern.length && !is(']'))
      if (is('[')) unknown()
      else if (!is('\\')) at += 1
      else if (at + 1 < pattern.length && (isPunctuation(pattern(at + 1)) || ClassesInBrackets(pattern(at + 1))))
        at += 2
      else unknown()
    if (is(']')) at += 1 else unknown()
  }
}
