// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.predicate.ValueRanges
import zonemap.core.value.{DecimalType => ZoneDecimal, LongValue, ZoneValue, ZoneValues}

/** An encoded value of an expression, which keeps the order of its type. */
private[zonemap] sealed trait Encoded

private[zonemap] object Encoded {
  case object Null extends Encoded
  case object NaN extends Encoded
  final case class Value(value: ZoneValue) extends Encoded
}

/**
 * Converts Catalyst's values to [[ZoneValue]]s and back, for types with the same order in Spark and in the index.
 *
 * Types with another order or another value class (collated strings, intervals, binary, time) are not supported.
 */
private[zonemap] object CatalystValues {

  /** True if values of the type can be encoded. */
  def isOrdered(dataType: DataType): Boolean =
    dataType match {
      case StringType           => true
      case decimal: DecimalType => decimal.precision <= DecimalType.MAX_PRECISION
      case other                => isLong(other)
    }

  /** True if values of the type are encoded as longs, which a binary search for boundaries needs. */
  def isLong(dataType: DataType): Boolean =
    dataType match {
      case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType => true
      case DateType | TimestampType | TimestampNTZType                                          => true
      case decimal: DecimalType => decimal.precision <= ZoneDecimal.MaxLongDigits
      case _                    => false
    }

  def isIntegral(dataType: DataType): Boolean =
    dataType match {
      case ByteType | ShortType | IntegerType | LongType => true
      case _                                             => false
    }

  def mayHoldNaN(dataType: DataType): Boolean = dataType == FloatType || dataType == DoubleType

  /** Encodes a value of an ordered type. */
  def encode(dataType: DataType, value: Any): Encoded =
    value match {
      case null          => Encoded.Null
      case b: Boolean    => Encoded.Value(ZoneValues.ofBoolean(b))
      case b: Byte       => Encoded.Value(ZoneValues.ofLong(b.toLong))
      case s: Short      => Encoded.Value(ZoneValues.ofLong(s.toLong))
      case i: Int        => Encoded.Value(ZoneValues.ofLong(i.toLong))
      case l: Long       => Encoded.Value(ZoneValues.ofLong(l))
      case f: Float      => if (f.isNaN) Encoded.NaN else Encoded.Value(ZoneValues.ofDouble(f.toDouble))
      case d: Double     => if (d.isNaN) Encoded.NaN else Encoded.Value(ZoneValues.ofDouble(d))
      case s: UTF8String => Encoded.Value(ZoneValues.ofBytes(s.getBytes))
      case d: Decimal =>
        val decimal = dataType.asInstanceOf[DecimalType]
        val unscaled = d.toJavaBigDecimal.setScale(decimal.scale).unscaledValue
        Encoded.Value(ZoneValues.ofDecimal(unscaled, ZoneDecimal(decimal.precision, decimal.scale)))
      case other => throw new IllegalArgumentException(s"no order of ${other.getClass.getName}")
    }

  /**
   * Decodes a value of a type encoded as longs; a double between two floats becomes the nearer one, both zeros +0.0.
   */
  def decode(dataType: DataType, encoded: Long): Any =
    dataType match {
      case BooleanType                                 => encoded != 0
      case ByteType                                    => encoded.toByte
      case ShortType                                   => encoded.toShort
      case IntegerType | DateType                      => encoded.toInt
      case LongType | TimestampType | TimestampNTZType => encoded
      case FloatType                                   => (ZoneValues.toDouble(encoded) + 0.0d).toFloat
      case DoubleType                                  => ZoneValues.toDouble(encoded) + 0.0d
      case decimal: DecimalType                        => Decimal(encoded, decimal.precision, decimal.scale)
      case other                                       => throw new IllegalArgumentException(s"no longs of $other")
    }

  /** Returns NaN in the type's class; None for types without NaN. */
  def nan(dataType: DataType): Option[Any] =
    dataType match {
      case FloatType  => Some(Float.NaN)
      case DoubleType => Some(Double.NaN)
      case _          => None
    }

  /** Returns the encodings of the least and the greatest value of a type that is encoded as longs. */
  private[expression] def domain(dataType: DataType): Domain =
    dataType match {
      case BooleanType            => Domain(0, 1)
      case ByteType               => Domain(Byte.MinValue.toLong, Byte.MaxValue.toLong)
      case ShortType              => Domain(Short.MinValue.toLong, Short.MaxValue.toLong)
      case IntegerType | DateType => Domain(Int.MinValue.toLong, Int.MaxValue.toLong)
      case FloatType | DoubleType => Domain.doubles(Double.NegativeInfinity, Double.PositiveInfinity)
      case decimal: DecimalType =>
        val limit = BigInt(10).pow(decimal.precision).toLong - 1
        Domain(-limit, limit)
      case _ => Domain(Long.MinValue, Long.MaxValue)
    }
}

/** The encoded values from `first` to `last`, both included; empty when first > last. */
private[expression] final case class Domain(first: Long, last: Long) {
  def isEmpty: Boolean = first > last

  def intersect(that: Domain): Domain = Domain(Math.max(first, that.first), Math.min(last, that.last))

  def ranges: ValueRanges =
    if (isEmpty) ValueRanges.empty else ValueRanges.closed(LongValue(first), LongValue(last))
}

private[expression] object Domain {
  val Empty: Domain = Domain(1, 0)

  def doubles(first: Double, last: Double): Domain =
    (ZoneValues.ofDouble(first), ZoneValues.ofDouble(last)) match {
      case (LongValue(a), LongValue(b)) => Domain(a, b)
      case _                            => Empty
    }

  /** Returns the part of [first, last] that fits in longs. */
  def of(first: BigInt, last: BigInt): Domain = {
    val (low, high) = (first.max(BigInt(Long.MinValue)), last.min(BigInt(Long.MaxValue)))
    if (low > high) Empty else Domain(low.toLong, high.toLong)
  }
}
