// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.lang.{Boolean => JBoolean, Double => JDouble, Float => JFloat, Long => JLong}
import java.math.{BigDecimal, BigInteger}
import java.util.UUID
import zonemap.core.io.{Input, Output}

/** Partition tuples as tagged values. Equal tuples have equal bytes. */
private[segment] object TupleCodec {

  private object Tag {
    val Null = 0
    val Boolean = 1
    val Int = 2
    val Long = 3
    val Float = 4
    val Double = 5
    val Text = 6
    val Bytes = 7
    val Decimal = 8
    val Uuid = 9
  }

  /**
   * Limits for decimals. Iceberg's decimals have at most 38 digits; comparing decimals with many more digits, or with
   * an extreme scale, would take much memory.
   */
  private val MaxScale = 1000L
  private val MaxUnscaledBytes = 64

  def write(out: Output, tuple: Array[AnyRef]): Unit = {
    out.varint(tuple.length)
    tuple.foreach(writeValue(out, _))
  }

  def encode(tuple: Array[AnyRef]): Array[Byte] = {
    val out = new Output(64)
    write(out, tuple)
    out.toBytes
  }

  def read(in: Input): Array[AnyRef] = Array.fill(in.count(1))(readValue(in))

  private def writeValue(out: Output, value: AnyRef): Unit = value match {
    case null           => out.byte(Tag.Null): Unit
    case v: JBoolean    => out.byte(Tag.Boolean).byte(if (v) 1 else 0): Unit
    case v: Integer     => out.byte(Tag.Int).int(v): Unit
    case v: JLong       => out.byte(Tag.Long).long(v): Unit
    case v: JFloat      => out.byte(Tag.Float).int(java.lang.Float.floatToRawIntBits(v)): Unit
    case v: JDouble     => out.byte(Tag.Double).long(java.lang.Double.doubleToRawLongBits(v)): Unit
    case v: String      => out.byte(Tag.Text).text(v): Unit
    case v: Array[Byte] => out.byte(Tag.Bytes).bytes(v): Unit
    case v: BigDecimal  => out.byte(Tag.Decimal).int(v.scale).bytes(v.unscaledValue.toByteArray): Unit
    case v: UUID        => out.byte(Tag.Uuid).long(v.getMostSignificantBits).long(v.getLeastSignificantBits): Unit
    case other =>
      throw new IllegalArgumentException(
        s"Cannot store partition value '$other': ${other.getClass} is not a tuple type")
  }

  private def readValue(in: Input): AnyRef = in.byte() match {
    case Tag.Null    => null
    case Tag.Boolean => Boolean.box(in.byte() != 0)
    case Tag.Int     => Int.box(in.int())
    case Tag.Long    => Long.box(in.long())
    case Tag.Float   => Float.box(java.lang.Float.intBitsToFloat(in.int()))
    case Tag.Double  => Double.box(java.lang.Double.longBitsToDouble(in.long()))
    case Tag.Text    => in.text()
    case Tag.Bytes   => in.bytes()
    case Tag.Decimal =>
      val scale = in.int()
      if (Math.abs(scale.toLong) > MaxScale) Input.damaged(s"a decimal of scale $scale")
      new BigDecimal(new BigInteger(in.raw(in.count(1, MaxUnscaledBytes))), scale)
    case Tag.Uuid => new UUID(in.long(), in.long())
    case other    => Input.damaged(s"a value with tag $other")
  }
}
