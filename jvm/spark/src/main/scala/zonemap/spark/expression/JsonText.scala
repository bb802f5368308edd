// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.util.Locale
import java.util.regex.Pattern

import org.apache.spark.sql.catalyst.expressions.{Expression, GetJsonObject, GetStructField, JsonToStructs}
import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns.EXISTS_DEFAULT_COLUMN_METADATA_KEY
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.value.BytesValue

/**
 * The texts that Spark takes out of JSON: SOUNDNESS, S171. Such a text is the decoded text of one string, or Spark
 * writes the value anew as JSON. Its characters stand in the JSON as they are, in the same order, except escaped ones.
 */
private[expression] object JsonText {

  /** Returns the JSON, whose collation has no effect on the text. */
  def unapply(text: Expression): Option[Expression] =
    text match {
      case found: GetJsonObject if isConstant(found.path)       => Some(found.json)
      case field: GetStructField if isPlainText(field.dataType) => parsed(field.child)
      case _                                                    => None
    }

  /**
   * Returns what JSON must have for its text to have the parts: all parts of one of these lists.
   *
   * @param isWhole whether the only part is the whole text
   */
  def sources(parts: Seq[TextPart], isWhole: Boolean): Seq[Seq[TextPart]] = {
    val certain = parts.flatMap { part =>
      val text = new String(part.bytes.bytes, ISO_8859_1)
      val runs = if (isWhole && !WrittenAnew.exists(text.contains(_))) ofScalar(text) else ofAnyValue(text)
      runs.filter(_.nonEmpty).map(run => part.copy(bytes = BytesValue(run.getBytes(ISO_8859_1))))
    }
    Seq(certain, Seq(EscapedAscii))
  }

  /** A text without these is a string, a number or a word of JSON, and is not quoted. */
  private val WrittenAnew = Seq("\"", "[", "{")

  /** Only one number can be written as an integer, and all other texts that are not of a number are one string. */
  private def ofScalar(text: String): Seq[String] =
    if (isOfNumber(text) && !Integer.matcher(text).matches) Nil else runs(text)

  private def ofAnyValue(text: String): Seq[String] = runs(text).filterNot(isOfNumber).map(withoutEscape)

  /** Returns the runs of characters that neither end a token of JSON nor have an escape other than [[EscapedAscii]]. */
  private def runs(text: String): Seq[String] = text.split(Uncertain).iterator.map(_.trim).filter(_.nonEmpty).toSeq

  /** What is not printable ASCII, half of a character, and what has a meaning in JSON or an escape of its own. */
  private val Uncertain = """[^ -~]|[?"'\\/,:{}\[\]]"""

  private val Integer = Pattern.compile("-?[0-9]+")

  /** A number can be written in another way than it was: 1.50 and 15e-1 become 1.5, and 1e999 is infinite. */
  private def isOfNumber(text: String): Boolean =
    PartOfNumber.matcher(text).matches || Seq("-infinity", "nan").exists(_.contains(text.toLowerCase(Locale.ROOT)))

  private val PartOfNumber = Pattern.compile("[+-]?[0-9]*[.]?[0-9]*([eE][+-]?[0-9]*)?")

  /** Removes what can be the end of an escape that Spark writes: of a control character, or of half of a character. */
  private def withoutEscape(run: String): String = EndOfEscape.matcher(run).replaceFirst("")

  private val EndOfEscape = Pattern.compile("^([nrt]|u?[0-9a-f]{0,4})", Pattern.CASE_INSENSITIVE)

  /** How the escape of a character of ASCII begins. */
  private val EscapedAscii = TextPart(BytesValue("\\u00".getBytes(ISO_8859_1)))

  private def isConstant(path: Expression): Boolean =
    path match {
      case Constant(_: UTF8String) => true
      case _                       => false
    }

  private def parsed(struct: Expression): Option[Expression] =
    struct match {
      case outer: GetStructField                                                  => parsed(outer.child)
      case json: JsonToStructs if json.options.isEmpty && neverFails(json.schema) => Some(json.child)
      case _                                                                      => None
    }

  /** Whether Spark parses every text to such a value or to null, and takes all texts in it from the JSON. */
  private def neverFails(schema: DataType): Boolean =
    schema match {
      case struct: StructType =>
        struct.forall { field =>
          neverFails(field.dataType) && !field.metadata.contains(EXISTS_DEFAULT_COLUMN_METADATA_KEY) &&
          field.name != SQLConf.get.columnNameOfCorruptRecord
        }
      case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType => true
      case other                                                                                => isPlainText(other)
    }

  private def isPlainText(dataType: DataType): Boolean =
    dataType match {
      case _: CharType | _: VarcharType => false
      case other                        => other == StringType
    }
}
