// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.nio.{ByteBuffer, ByteOrder}
import zonemap.core.io.{Input, Output}

/**
 * Stores one 64-bit number per row as `min + code`, with codes of 0, 1, 2, 4 or 8 bytes; an array of width 0 is
 * constant. In a nullable array, code 0 is null and the number is `min + code - 1`.
 */
final private[segment] case class PackedShape(nullable: Boolean, widthBytes: Int, min: Long) {

  def write(out: Output): Unit = out.byte(if (nullable) 1 else 0).byte(widthBytes).long(min): Unit
}

private[segment] object PackedShape {

  def read(in: Input): PackedShape = {
    val nullable = in.byte()
    val width = in.byte()
    if (nullable > 1 || !Set(0, 1, 2, 4, 8)(width)) Input.damaged(s"a packed array of $width bytes a row")
    PackedShape(nullable == 1, width, in.long())
  }
}

/** Reads a packed array. Thread-safe; a read is O(1) and allocates nothing. */
final private[segment] class PackedLongs(shape: PackedShape, codes: ByteBuffer) {

  /** Whether all rows hold the same number, or all rows hold null. */
  def isConstant: Boolean = shape.widthBytes == 0

  /** Whether the row holds null, which is possible only in a nullable array. */
  def isNull(row: Int): Boolean = shape.nullable && code(row) == 0L

  /** The number of a row. The row must not hold null. */
  def apply(row: Int): Long = shape.min + code(row) - (if (shape.nullable) 1L else 0L)

  def boxed(row: Int): java.lang.Long = if (isNull(row)) null else Long.box(apply(row))

  private def code(row: Int): Long = shape.widthBytes match {
    case 0 => 0L
    case 1 => codes.get(row) & 0xffL
    case 2 => codes.getShort(row * 2) & 0xffffL
    case 4 => codes.getInt(row * 4) & 0xffffffffL
    case _ => codes.getLong(row * 8)
  }
}

/** Writes a packed array: collects numbers, then chooses the narrowest shape. Not thread-safe. */
final private[segment] class PackedLongsBuilder {
  private var values = new Array[Long](16)
  private val nulls = new java.util.BitSet
  private var length_ = 0

  def length: Int = length_

  def add(value: Long): Unit = {
    if (length_ == values.length) values = java.util.Arrays.copyOf(values, length_ * 2)
    values(length_) = value
    length_ += 1
  }

  def addNullable(value: java.lang.Long): Unit =
    if (value == null) {
      nulls.set(length_)
      add(0L)
    } else add(value)

  /** The shape and the codes of the array. */
  def result(): (PackedShape, Array[Byte]) = {
    val nullable = !nulls.isEmpty
    if (nulls.cardinality == length_) (PackedShape(nullable, 0, 0L), Array.emptyByteArray)
    else {
      var min = Long.MaxValue
      var max = Long.MinValue
      var row = nulls.nextClearBit(0)
      while (row < length_) {
        min = Math.min(min, values(row))
        max = Math.max(max, values(row))
        row = nulls.nextClearBit(row + 1)
      }
      val shape = PackedLongsBuilder.shape(nullable, min, max)
      (shape, encode(shape))
    }
  }

  private def encode(shape: PackedShape): Array[Byte] = {
    val out = ByteBuffer.allocate(Math.multiplyExact(length_, shape.widthBytes)).order(ByteOrder.LITTLE_ENDIAN)
    val base = shape.min - (if (shape.nullable) 1L else 0L)
    var row = 0
    while (row < length_) {
      val code = if (nulls.get(row)) 0L else values(row) - base
      shape.widthBytes match {
        case 0 => ()
        case 1 => out.put(code.toByte)
        case 2 => out.putShort(code.toShort)
        case 4 => out.putInt(code.toInt)
        case _ => out.putLong(code)
      }
      row += 1
    }
    out.array()
  }
}

private object PackedLongsBuilder {

  /**
   * The narrowest shape for numbers from `min` to `max`. A range that does not fit in 63 bits is stored as 8-byte
   * numbers, and cannot be nullable.
   */
  private def shape(nullable: Boolean, min: Long, max: Long): PackedShape = {
    val codes = max - min + (if (nullable) 1L else 0L)
    if (max - min < 0 || codes < 0) {
      require(!nullable, s"a nullable array cannot span $min to $max")
      PackedShape(nullable, 8, 0L)
    } else if (codes == 0) PackedShape(nullable, 0, min)
    else if (codes <= 0xffL) PackedShape(nullable, 1, min)
    else if (codes <= 0xffffL) PackedShape(nullable, 2, min)
    else if (codes <= 0xffffffffL) PackedShape(nullable, 4, min)
    else PackedShape(nullable, 8, min)
  }
}
