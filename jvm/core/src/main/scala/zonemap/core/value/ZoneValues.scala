// SPDX-License-Identifier: Apache-2.0
package zonemap.core.value

import java.math.BigInteger
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets
import java.util.UUID

/** Encodes and decodes [[ZoneValue]]s. All functions are pure; malformed input is an IllegalArgumentException. */
private[zonemap] object ZoneValues {

  private val DecimalBytes = 16

  /**
   * Encodes int, long, date (days), time (micros) and timestamps (micros or nanos), whose value is its own encoding.
   */
  def ofLong(value: Long): ZoneValue = LongValue(value)

  def ofBoolean(value: Boolean): ZoneValue = LongValue(if (value) 1L else 0L)

  /**
   * Encodes float and double. Both zeros become +0.0, since Spark compares them equal. NaN has no encoding and causes
   * an IllegalArgumentException.
   */
  def ofDouble(value: Double): ZoneValue = {
    require(!value.isNaN, "NaN cannot be encoded")
    val bits = java.lang.Double.doubleToLongBits(if (value == 0.0d) 0.0d else value)
    LongValue(bits ^ ((bits >> 63) & Long.MaxValue))
  }

  def toDouble(encoded: Long): Double =
    java.lang.Double.longBitsToDouble(encoded ^ ((encoded >> 63) & Long.MaxValue))

  def ofString(value: String): ZoneValue = BytesValue(value.getBytes(StandardCharsets.UTF_8))

  /** Encodes string (as UTF-8), binary and fixed. */
  def ofBytes(value: Array[Byte]): ZoneValue = BytesValue(value)

  def ofUuid(value: UUID): ZoneValue =
    BytesValue(
      ByteBuffer.allocate(16).putLong(value.getMostSignificantBits).putLong(value.getLeastSignificantBits).array())

  def toUuid(value: BytesValue): UUID = {
    val buffer = ByteBuffer.wrap(value.bytes)
    new UUID(buffer.getLong, buffer.getLong)
  }

  /** Encodes an unscaled decimal; throws an IllegalArgumentException if it has more digits than the type. */
  def ofDecimal(unscaled: BigInteger, columnType: DecimalType): ZoneValue = {
    require(
      unscaled.abs.compareTo(BigInteger.TEN.pow(columnType.precision)) < 0,
      s"$unscaled has more than ${columnType.precision} digits")
    columnType.encoding match {
      case Encoding.Longs => LongValue(unscaled.longValueExact)
      case Encoding.Bytes => decimalBytes(unscaled)
    }
  }

  /** 16 bytes, big-endian two's complement with the sign bit flipped, so that unsigned order is numeric order. */
  private[value] def decimalBytes(unscaled: BigInteger): BytesValue = {
    val digits = unscaled.toByteArray
    require(digits.length <= DecimalBytes, s"$unscaled does not fit in $DecimalBytes bytes")
    val out = new Array[Byte](DecimalBytes)
    val pad = DecimalBytes - digits.length
    if (unscaled.signum < 0) java.util.Arrays.fill(out, 0, pad, -1.toByte)
    System.arraycopy(digits, 0, out, pad, digits.length)
    out(0) = (out(0) ^ 0x80).toByte
    BytesValue(out)
  }

  /** The unscaled value of a decimal in either encoding. */
  def toUnscaled(value: ZoneValue): BigInteger = value match {
    case LongValue(v) => BigInteger.valueOf(v)
    case BytesValue(bytes) =>
      val digits = bytes.clone()
      digits(0) = (digits(0) ^ 0x80).toByte
      new BigInteger(digits)
  }
}
