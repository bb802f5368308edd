// SPDX-License-Identifier: Apache-2.0
package zonemap.core.value

import java.math.BigInteger

/**
 * The type of a column's bounds when they were written, one of Iceberg's types. `text` is Iceberg's own name of the
 * type, which the format stores.
 */
sealed abstract private[zonemap] class ColumnType(val text: String, val encoding: Encoding) {

  /** float and double: the only types that hold NaN. */
  def mayHoldNaN: Boolean = false

  /**
   * Returns the value of a literal of type `literalType` in the encoding of this (stored) type, with the order preserved, or
   * None if the two types do not compare. A decimal literal beyond 18 digits is clamped to +-10^18 for a stored type of
   * at most 18 digits: beyond every value of that type, on the same side as the literal.
   */
  def reencode(literal: ZoneValue, literalType: ColumnType): Option[ZoneValue] =
    if (!ColumnType.comparable(this, literalType)) None
    else
      (encoding, literal) match {
        case (Encoding.Longs, _: LongValue)  => Some(literal)
        case (Encoding.Bytes, _: BytesValue) => Some(literal)
        case (Encoding.Longs, _)             => Some(LongValue(ColumnType.clamp(ZoneValues.toUnscaled(literal))))
        case (Encoding.Bytes, _)             => Some(ZoneValues.decimalBytes(ZoneValues.toUnscaled(literal)))
      }

  override def toString: String = text
}

private[zonemap] object BooleanType extends ColumnType("boolean", Encoding.Longs)
private[zonemap] object IntType extends ColumnType("int", Encoding.Longs)
private[zonemap] object LongType extends ColumnType("long", Encoding.Longs)
private[zonemap] object DateType extends ColumnType("date", Encoding.Longs)
private[zonemap] object TimeType extends ColumnType("time", Encoding.Longs)
private[zonemap] object TimestampType extends ColumnType("timestamp", Encoding.Longs)
private[zonemap] object TimestampTzType extends ColumnType("timestamptz", Encoding.Longs)
private[zonemap] object TimestampNsType extends ColumnType("timestamp_ns", Encoding.Longs)

private[zonemap] object TimestampTzNsType extends ColumnType("timestamptz_ns", Encoding.Longs)

private[zonemap] object FloatType extends ColumnType("float", Encoding.Longs) {
  override def mayHoldNaN: Boolean = true
}

private[zonemap] object DoubleType extends ColumnType("double", Encoding.Longs) {
  override def mayHoldNaN: Boolean = true
}

private[zonemap] object StringType extends ColumnType("string", Encoding.Bytes)
private[zonemap] object BinaryType extends ColumnType("binary", Encoding.Bytes)

/** Iceberg orders uuids as two signed longs, Spark as text: see the two-order rule in [[UuidOrder]]. */
private[zonemap] object UuidType extends ColumnType("uuid", Encoding.Bytes)

final private[zonemap] case class FixedType(lengthBytes: Int) extends ColumnType(s"fixed[$lengthBytes]", Encoding.Bytes)

/** decimal(precision, scale), precision 1 to 38. Up to 18 digits the unscaled value is a Long. */
final private[zonemap] case class DecimalType(precision: Int, scale: Int)
    extends ColumnType(
      s"decimal($precision, $scale)",
      if (precision <= DecimalType.MaxLongDigits) Encoding.Longs else Encoding.Bytes) {
  require(precision >= 1 && precision <= DecimalType.MaxDigits, s"decimal precision $precision is not in 1..38")
}

private[zonemap] object DecimalType {
  val MaxLongDigits = 18
  val MaxDigits = 38
}

private[zonemap] object ColumnType {

  private val Simple: Map[String, ColumnType] = Seq(
    BooleanType,
    IntType,
    LongType,
    FloatType,
    DoubleType,
    DateType,
    TimeType,
    TimestampType,
    TimestampTzType,
    TimestampNsType,
    TimestampTzNsType,
    StringType,
    BinaryType,
    UuidType
  ).map(t => t.text -> t).toMap

  private val Decimal = """decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)""".r
  private val Fixed = """fixed\[(\d{1,9})]""".r

  /**
   * Returns the type with Iceberg's name `text`; None for a type without bounds (geometry, variant, nested, unknown).
   */
  def parse(text: String): Option[ColumnType] = text match {
    case Decimal(p, s) if p.toInt >= 1 && p.toInt <= DecimalType.MaxDigits => Some(DecimalType(p.toInt, s.toInt))
    case Fixed(length)                                                     => Some(FixedType(length.toInt))
    case other                                                             => Simple.get(other)
  }

  /** True if bounds of type `stored` compare with a literal of type `literalType`: equal types or Iceberg promotions. */
  def comparable(stored: ColumnType, literalType: ColumnType): Boolean = (stored, literalType) match {
    case (IntType | LongType, IntType | LongType)         => true
    case (FloatType | DoubleType, FloatType | DoubleType) => true
    case (DecimalType(_, left), DecimalType(_, right))    => left == right
    case (left, right)                                    => left == right
  }

  /** Returns the wider of two comparable types, which holds the values of both. */
  def wider(left: ColumnType, right: ColumnType): ColumnType = (left, right) match {
    case (IntType, LongType) | (FloatType, DoubleType)   => right
    case (DecimalType(p, _), DecimalType(q, _)) if q > p => right
    case _                                               => left
  }

  private val ClampLimit = BigInteger.TEN.pow(DecimalType.MaxLongDigits)

  private def clamp(unscaled: BigInteger): Long = unscaled.min(ClampLimit).max(ClampLimit.negate).longValueExact
}
