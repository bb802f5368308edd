// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.report

import zonemap.core.value.ValueText

/**
 * The fields of a log line, as `name=value` separated by spaces. A value with a space, a quote, a backslash, an equals
 * sign or an unprintable character is in double quotes, with backslashes before quotes and backslashes, and an empty
 * value is `""`; so a line is read back without knowing its fields.
 */
private[zonemap] object LogFields {
  def of(fields: Seq[(String, Any)]): String =
    fields.map { case (name, value) => s"$name=${text(value.toString)}" }.mkString(" ")

  private def text(value: String): String =
    if (value.nonEmpty && value.forall(isPlain)) value
    else "\"" + ValueText.printable(value.replace("\\", "\\\\").replace("\"", "\\\"")) + "\""

  private def isPlain(c: Char): Boolean = c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '='
}
