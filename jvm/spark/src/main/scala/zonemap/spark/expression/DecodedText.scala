// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.value.BytesValue

/**
 * Texts that Spark decodes into Java strings, as it does for patterns: SOUNDNESS, S164. U+FFFD then stands for
 * malformed bytes, and a question mark for half of a character that a pattern cut in two.
 */
private[expression] object DecodedText {

  /** Returns the runs of a part of the decoded text that are parts of the text itself, none of them empty. */
  def certain(part: String): Seq[BytesValue] =
    part.split(Uncertain).iterator.filter(_.nonEmpty).map(run => BytesValue(UTF8String.fromString(run).getBytes)).toSeq

  private val Uncertain = "[?\uFFFD]"
}
