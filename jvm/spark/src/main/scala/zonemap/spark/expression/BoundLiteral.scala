package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.types.{DataType, DoubleType, FloatType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.value.{BytesValue, LongValue, ZoneValue}

/** A bound from the index as a literal that Spark and Iceberg compare a column with. */
private[spark] object BoundLiteral {

  /**
   * The bound as a literal of the column's type; None where the type cannot hold it, as after time travel to a narrower
   * type.
   *
   * @param isLower whether the column is asked to be at least the bound. Iceberg takes -0.0 for less than 0.0: of the two
   *   zeros the literal is the one that leaves neither out
   */
  def of(value: ZoneValue, dataType: DataType, isLower: Boolean): Option[Literal] =
    value match {
      case LongValue(v) if CatalystValues.isLong(dataType) =>
        val domain = CatalystValues.domain(dataType)
        Option
          .when(domain.first <= v && v <= domain.last)(CatalystValues.decode(dataType, v))
          .filter(CatalystValues.encode(dataType, _) == Encoded.Value(value))
          .map(decoded => Literal(if (isLower) lowerZero(dataType, decoded) else decoded, dataType))
      case BytesValue(bytes) if dataType == StringType =>
        val text = UTF8String.fromBytes(bytes)
        Option.when(text.isValid)(Literal(text, StringType))
      case _ => None
    }

  private def lowerZero(dataType: DataType, value: Any): Any =
    (dataType, value) match {
      case (FloatType, 0.0f)  => -0.0f
      case (DoubleType, 0.0d) => -0.0d
      case _                  => value
    }
}
