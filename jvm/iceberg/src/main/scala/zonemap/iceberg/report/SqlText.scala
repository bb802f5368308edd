// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.report

/** Names, columns and texts as parts of SQL statements that run as they are printed, whatever confs the session has. */
object SqlText {

  private val Plain = "[A-Za-z_][A-Za-z0-9_]*"

  /** The inside of quotes, without a step back for each character, which would need a deep stack. */
  private[iceberg] val InQuotes = "[^']*+(?:''[^']*+)*+"

  /** A column of a map with a key, as facts name it. */
  private val MapKey = s"""(?s)(.+)(\\[(?:'$InQuotes'|-?\\d+)\\])""".r

  /** A path in the JSON of a column, as facts name it. */
  private val JsonPath = s"""(?s)get_json_object\\((.+)(, '$InQuotes'\\))""".r

  /** A path in the variants of a column and the type of the values there, as facts name it. */
  private val VariantPath = s"""(?s)variant_get\\((.+)(, '$InQuotes', '\\w+'\\))""".r

  /**
   * A text as an argument of a procedure. No literal of it holds a quote or a backslash, because
   * spark.sql.parser.escapedStringLiterals changes the meaning of these.
   */
  def literal(text: String): String =
    if (!text.exists(isSpecial)) s"'$text'" else pieces(text).mkString("concat(", ", ", ")")

  private def isSpecial(c: Char): Boolean = c == '\'' || c == '\\'

  private def pieces(text: String): Seq[String] =
    if (text.isEmpty) Nil
    else if (isSpecial(text.head)) s"char(${text.head.toInt})" +: pieces(text.tail)
    else {
      val (plain, rest) = text.span(!isSpecial(_))
      s"'$plain'" +: pieces(rest)
    }

  /** A key or a value of table properties, of which Spark reads the escapes under every conf. */
  def property(text: String): String = "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

  /** The name of a table, or another name of several parts. */
  def name(parts: Seq[String]): String =
    parts.map(part => if (part.matches(Plain)) part else backquoted(part)).mkString(".")

  /** A column, or a field of a struct, in the sort order of `rewrite_data_files`, by its full name in the schema. */
  def sortKey(column: String): String = if (column.matches(s"$Plain(\\.$Plain)*")) column else backquoted(column)

  /** A column, a field of a struct, a key of a map or a path within a value in the notation of facts. */
  def factColumn(column: String): String =
    column match {
      case plain if plain.matches("[\\w.]+") => plain
      case MapKey(map, key)                  => factColumn(map) + key
      case JsonPath(json, path)              => s"get_json_object(${factColumn(json)}$path"
      case VariantPath(variant, path)        => s"variant_get(${factColumn(variant)}$path"
      case other                             => backquoted(other)
    }

  private def backquoted(text: String): String = s"`${text.replace("`", "``")}`"

  /** The call that indexes a table. */
  def build(table: String): String = s"CALL zonemap.system.build_index(table => ${literal(table)})"

  /** The call that chooses the columns of the index. */
  def buildOf(table: String, columns: Seq[String]): String =
    s"CALL zonemap.system.build_index(table => ${literal(table)}, columns => ${array(columns)})"

  /** Texts as an argument of a procedure. */
  def array(texts: Seq[String]): String = texts.map(literal).mkString("array(", ", ", ")")

  /** The call that builds a fact of each of these columns. */
  def build(table: String, kind: String, columns: String*): String =
    s"CALL zonemap.system.build_index(table => ${literal(table)}, facts => ${facts(kind, columns: _*)})"

  /** The facts of one kind, as the argument of a call. */
  def facts(kind: String, columns: String*): String = literal(columns.map(factColumn).mkString(s"$kind(", ", ", ")"))
}
