// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

private[zonemap] object NestedTypes {

  /** True if a type, or a type within it, is one that `is` accepts. */
  def contains(dataType: DataType)(is: DataType => Boolean): Boolean =
    is(dataType) || (dataType match {
      case ArrayType(element, _)  => contains(element)(is)
      case MapType(key, value, _) => contains(key)(is) || contains(value)(is)
      case struct: StructType     => struct.exists(field => contains(field.dataType)(is))
      case _                      => false
    })
}
