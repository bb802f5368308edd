// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.evidence

import java.math.BigInteger

import scala.util.Try

import org.apache.iceberg.shaded.org.apache.parquet.io.api.Binary
import org.apache.iceberg.shaded.org.apache.parquet.schema.{LogicalTypeAnnotation, PrimitiveType}
import org.apache.iceberg.shaded.org.apache.parquet.schema.LogicalTypeAnnotation._
import org.apache.iceberg.shaded.org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

import zonemap.core.value._

/**
 * The types of Parquet whose least and greatest values in a footer are values of a column of the table, in its unit and
 * its order.
 */
private[evidence] object FooterTypes {

  /**
   * Whether readers return the stored values of a column unchanged, in an order that its footer states. Uuids are
   * left out, because writers disagree about their order.
   */
  def states(column: ColumnType, stored: PrimitiveType): Boolean = {
    val kind = stored.getPrimitiveTypeName
    val meaning = Option(stored.getLogicalTypeAnnotation)
    column match {
      case BooleanType => kind == BOOLEAN
      case IntType     => kind == INT32 && isSigned(meaning)
      case LongType    => (kind == INT32 || kind == INT64) && isSigned(meaning)
      case FloatType   => kind == FLOAT
      case DoubleType  => kind == FLOAT || kind == DOUBLE
      case DateType    => kind == INT32 && meaning.exists(_.isInstanceOf[DateLogicalTypeAnnotation])
      case TimeType    => kind == INT64 && unit(meaning).contains(TimeUnit.MICROS) && !isTimestamp(meaning)
      case TimestampType | TimestampTzType =>
        kind == INT64 && unit(meaning).contains(TimeUnit.MICROS) && isTimestamp(meaning)
      case TimestampNsType | TimestampTzNsType =>
        kind == INT64 && unit(meaning).contains(TimeUnit.NANOS) && isTimestamp(meaning)
      case DecimalType(precision, scale) =>
        meaning.exists {
          case d: DecimalLogicalTypeAnnotation => d.getScale == scale && d.getPrecision <= precision
          case _                               => false
        }
      case StringType      => kind == BINARY && meaning.exists(_.isInstanceOf[StringLogicalTypeAnnotation])
      case BinaryType      => kind == BINARY && meaning.isEmpty
      case FixedType(size) => kind == FIXED_LEN_BYTE_ARRAY && stored.getTypeLength == size && meaning.isEmpty
      case _               => false
    }
  }

  /** A value of a footer, for a type of which [[states]] is true; `None` if it is not a value of the column. */
  def encode(column: ColumnType, value: Any): Option[ZoneValue] =
    (column, value) match {
      case (BooleanType, v: java.lang.Boolean)  => Some(ZoneValues.ofBoolean(v))
      case (decimal: DecimalType, v: Number)    => decimalOf(BigInteger.valueOf(v.longValue), decimal)
      case (decimal: DecimalType, v: Binary)    => decimalOf(new BigInteger(v.getBytes), decimal)
      case (_: DecimalType, _)                  => None
      case (StringType | BinaryType, v: Binary) => Some(ZoneValues.ofBytes(v.getBytes))
      case (_: FixedType, v: Binary)            => Some(ZoneValues.ofBytes(v.getBytes))
      case (FloatType | DoubleType, v: Number)  => Some(ZoneValues.ofDouble(v.doubleValue))
      case (_, v: Number)                       => Some(ZoneValues.ofLong(v.longValue))
      case _                                    => None
    }

  private def decimalOf(unscaled: BigInteger, decimal: DecimalType): Option[ZoneValue] =
    Try(ZoneValues.ofDecimal(unscaled, decimal)).toOption

  private def isSigned(meaning: Option[LogicalTypeAnnotation]): Boolean = meaning.forall {
    case int: IntLogicalTypeAnnotation => int.isSigned
    case _                             => false
  }

  private def isTimestamp(meaning: Option[LogicalTypeAnnotation]): Boolean =
    meaning.exists(_.isInstanceOf[TimestampLogicalTypeAnnotation])

  private def unit(meaning: Option[LogicalTypeAnnotation]): Option[TimeUnit] = meaning.collect {
    case timestamp: TimestampLogicalTypeAnnotation => timestamp.getUnit
    case time: TimeLogicalTypeAnnotation           => time.getUnit
  }
}
