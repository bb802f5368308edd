// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.types.{DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.value.{BytesValue, LongValue, ZoneValue}

/** Converts a bound from the index into a literal of a column's type. */
private[zonemap] object BoundLiteral {

  /** Returns the literal, or None if the type cannot hold the value, as after time travel to a narrower type. */
  def of(value: ZoneValue, dataType: DataType): Option[Literal] =
    value match {
      case LongValue(v) if CatalystValues.isLong(dataType) =>
        val domain = CatalystValues.domain(dataType)
        Option
          .when(domain.first <= v && v <= domain.last)(CatalystValues.decode(dataType, v))
          .filter(CatalystValues.encode(dataType, _) == Encoded.Value(value))
          .map(Literal(_, dataType))
      case BytesValue(bytes) if dataType == StringType =>
        val text = UTF8String.fromBytes(bytes)
        Option.when(MinorExpressions.isValid(text))(Literal(text, StringType))
      case _ => None
    }
}
