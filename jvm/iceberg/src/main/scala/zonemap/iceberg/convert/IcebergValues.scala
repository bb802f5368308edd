// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import java.math.{BigDecimal => JBigDecimal, BigInteger}
import java.nio.{ByteBuffer, ByteOrder}
import java.util.UUID

import org.apache.iceberg.types.Type

import zonemap.core.value._

/**
 * Converts Iceberg's types and values to the core's [[ColumnType]]s and [[ZoneValue]]s.
 *
 * Thread-safe, no state. The result is `None` for an unsupported type: its columns are not indexed, and predicates on
 * them keep every file.
 */
private[zonemap] object IcebergValues {

  /** The column type of a primitive Iceberg type; `None` for a type whose bounds have no supported order. */
  def columnType(icebergType: Type): Option[ColumnType] =
    if (icebergType.isPrimitiveType) ColumnType.parse(icebergType.toString) else None

  /**
   * Decodes a manifest bound (Iceberg's single-value binary form, spec appendix D) of a column of type `columnType`.
   *
   * An int bound of a long column and a float bound of a double column are accepted, because type promotion does not
   * rewrite old manifests. NaN and bounds of an unexpected length return `None`: the bound is unknown. So is a date as
   * the bound of a column that was promoted to a timestamp, because its four bytes count days.
   */
  def decodeBound(columnType: ColumnType, bound: ByteBuffer): Option[ZoneValue] = {
    val bytes = bound.duplicate().order(ByteOrder.LITTLE_ENDIAN)
    val at = bytes.position()
    columnType match {
      case BooleanType =>
        Option.when(bytes.remaining == 1)(ZoneValues.ofBoolean(bytes.get(at) != 0))
      case FloatType | DoubleType =>
        val decoded = bytes.remaining match {
          case 4 => Some(bytes.getFloat(at).toDouble)
          case 8 => Some(bytes.getDouble(at))
          case _ => None
        }
        decoded.filterNot(_.isNaN).map(ZoneValues.ofDouble)
      case decimal: DecimalType =>
        Option.when(bytes.hasRemaining)(new BigInteger(toArray(bytes))).flatMap(fitDecimal(_, decimal))
      case StringType | BinaryType | _: FixedType =>
        Some(ZoneValues.ofBytes(toArray(bytes)))
      case UuidType =>
        Option.when(bytes.remaining == 16)(ZoneValues.ofBytes(toArray(bytes)))
      case IntType | LongType | DateType if bytes.remaining == 4 => Some(ZoneValues.ofLong(bytes.getInt(at).toLong))
      case DateType                                              => None
      case _ => Option.when(bytes.remaining == 8)(ZoneValues.ofLong(bytes.getLong(at)))
    }
  }

  /** Encodes a literal that Iceberg bound to a column of type `columnType`; `None` for NaN. */
  def encodeLiteral(columnType: ColumnType, value: Any): Option[ZoneValue] =
    value match {
      case b: java.lang.Boolean => Some(ZoneValues.ofBoolean(b))
      case i: java.lang.Integer => Some(ZoneValues.ofLong(i.longValue))
      case l: java.lang.Long    => Some(ZoneValues.ofLong(l))
      case f: java.lang.Float   => Option.when(!f.isNaN)(ZoneValues.ofDouble(f.doubleValue))
      case d: java.lang.Double  => Option.when(!d.isNaN)(ZoneValues.ofDouble(d))
      case s: CharSequence      => Some(ZoneValues.ofString(s.toString))
      case u: UUID              => Some(ZoneValues.ofUuid(u))
      case b: ByteBuffer        => Some(ZoneValues.ofBytes(toArray(b.duplicate())))
      case bytes: Array[Byte]   => Some(ZoneValues.ofBytes(bytes))
      case d: JBigDecimal =>
        columnType match {
          case decimal: DecimalType if d.scale == decimal.scale => fitDecimal(d.unscaledValue, decimal)
          case _                                                => None
        }
      case _ => None
    }

  private def fitDecimal(unscaled: BigInteger, decimal: DecimalType): Option[ZoneValue] =
    Option.when(new JBigDecimal(unscaled).precision <= decimal.precision)(ZoneValues.ofDecimal(unscaled, decimal))

  /** A copy of the remaining bytes of a buffer; the buffer's position does not change. */
  private[zonemap] def toArray(buffer: ByteBuffer): Array[Byte] = {
    val bytes = new Array[Byte](buffer.remaining)
    buffer.get(buffer.position(), bytes)
    bytes
  }
}
