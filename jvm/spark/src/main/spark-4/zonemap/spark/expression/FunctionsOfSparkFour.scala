// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.types.UTF8String

/** What the minor versions of Spark 4 have alike for values and functions, and Spark 3.5 in another way. */
private[expression] trait FunctionsOfSparkFour {

  /** The conf that selects the case mapping of `upper` and `lower`, if there are two. */
  def caseMappingConf: Option[String] = Some(SQLConf.ICU_CASE_MAPPINGS_ENABLED.key)

  def isValid(text: UTF8String): Boolean = text.isValid

  /** The number of bytes of a character, from its first byte. */
  def bytesOfCharacter(first: Byte): Int = UTF8String.numBytesForFirstByte(first)

  /** Whether values of the type are equal only if their bytes are equal. */
  def isBinaryStable(dataType: DataType): Boolean = UnsafeRowUtils.isBinaryStable(dataType)
}
