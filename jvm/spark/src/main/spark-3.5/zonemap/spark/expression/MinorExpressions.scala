// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import java.nio.ByteBuffer
import java.nio.charset.{CharacterCodingException, StandardCharsets}

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.types.UTF8String

/** Functions of Spark that have another name in each minor version of Spark; here, those of Spark 3.5. */
private[zonemap] object MinorExpressions {

  /** A timestamp plus an interval. */
  type TimestampAddInterval = org.apache.spark.sql.catalyst.expressions.TimeAdd

  /** The conf that rounds decimals of more than 38 digits, if arithmetic reads it when it evaluates rows. */
  def decimalConf: Option[String] = Some(SQLConf.DECIMAL_OPERATIONS_ALLOW_PREC_LOSS.key)

  /** The conf that selects the case mapping of `upper` and `lower`: this Spark has Java's alone. */
  def caseMappingConf: Option[String] = None

  def isValid(text: UTF8String): Boolean =
    try {
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(text.getBytes))
      true
    } catch { case _: CharacterCodingException => false }

  /** The number of bytes of a character, from its first byte: as `UTF8String` counts, whose method is private here. */
  def bytesOfCharacter(first: Byte): Int = {
    val byte = first & 0xff
    if (byte < 0xc2 || byte > 0xf4) 1 else if (byte < 0xe0) 2 else if (byte < 0xf0) 3 else 4
  }

  /** Whether values of the type are equal only if their bytes are equal: this Spark has no collations. */
  def isBinaryStable(dataType: DataType): Boolean = true
}
