// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.fact

import scala.util.matching.Regex

import zonemap.core.value.{ZoneValue, ZoneValues}
import zonemap.iceberg.report.SqlText.InQuotes

/**
 * Parses the notation of facts: `values(status, tags['type']), bloom(user_id)`. Commas and parentheses in quotes are
 * part of a name or a key.
 */
private[fact] object FactText {

  /** A kind of fact and the columns in its parentheses. */
  object Item {
    private val Form = """(?s)(\w+)\s*\((.*)\)""".r

    def unapply(text: String): Option[(String, Seq[String])] =
      text.trim match {
        case Form(kind, columns) => Some((kind, split(columns)))
        case _                   => None
      }
  }

  /** A map and one of its keys: a text in quotes or a whole number. */
  object MapKey {
    private val Form = s"""(?s)(.+)\\[\\s*(?:'($InQuotes)'|(-?\\d{1,18}))\\s*\\]""".r

    def unapply(column: String): Option[(String, ZoneValue)] =
      column match {
        case Form(map, null, number) => Some((bare(map), ZoneValues.ofLong(number.toLong)))
        case Form(map, text, null)   => Some((bare(map), ZoneValues.ofString(text.replace("''", "'"))))
        case _                       => None
      }
  }

  /** A column, a path in its variants and the type of the values there, both in quotes. */
  object PathInVariant {
    private val Form = s"""(?is)variant_get\\s*\\((.+),\\s*'($InQuotes)'\\s*,\\s*'([^']*)'\\s*\\)""".r

    def unapply(column: String): Option[(String, String, String)] =
      column match {
        case Form(variant, path, sqlType) => Some((bare(variant), path.replace("''", "'"), sqlType))
        case _                            => None
      }
  }

  /** A column and a path in its JSON, in quotes. */
  object PathInJson {
    private val Form = s"""(?is)get_json_object\\s*\\((.+),\\s*'($InQuotes)'\\s*\\)""".r

    def unapply(column: String): Option[(String, String)] =
      column match {
        case Form(json, path) => Some((bare(json), path.replace("''", "'")))
        case _                => None
      }
  }

  /** A name without the backquotes of its parts, such as st.`a.b`; two backquotes within a part are one. */
  def bare(name: String): String = {
    val trimmed = name.trim
    if (!Parts.matches(trimmed)) trimmed
    else Quoted.replaceAllIn(trimmed, part => Regex.quoteReplacement(part.group(1).replace("``", "`")))
  }

  private val Quoted = "(?s)`((?:[^`]|``)*)`".r
  private val Parts = s"(?s)(?:$Quoted|[^`.]+)(?:\\.(?:$Quoted|[^`.]+))*".r

  /** Splits a text at the commas outside quotes and parentheses. */
  def split(text: String): Seq[String] = {
    var depth = 0
    var quote = Option.empty[Char]
    val commas = text.indices.filter { i =>
      val c = text(i)
      quote match {
        case Some(open)                    => if (c == open) quote = None
        case None if c == '\'' || c == '`' => quote = Some(c)
        case None if c == '('              => depth += 1
        case None if c == ')'              => depth -= 1
        case None                          => ()
      }
      c == ',' && depth == 0 && quote.isEmpty
    }
    (-1 +: commas).zip(commas :+ text.length).map { case (from, until) => text.substring(from + 1, until).trim }
  }
}
