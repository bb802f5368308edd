// SPDX-License-Identifier: Apache-2.0
package zonemap.core.io

import java.nio.charset.StandardCharsets
import java.nio.{ByteBuffer, ByteOrder}
import java.util.Arrays

/** A growing little-endian byte array. Not thread-safe. */
final private[core] class Output(initialBytes: Int = 256) {
  private var buffer: ByteBuffer = allocate(initialBytes)

  def size: Int = buffer.position()

  def toBytes: Array[Byte] = Arrays.copyOf(buffer.array(), size)

  def byte(value: Int): Output = { room(1).put(value.toByte); this }
  def short(value: Int): Output = { room(2).putShort(value.toShort); this }
  def int(value: Int): Output = { room(4).putInt(value); this }
  def long(value: Long): Output = { room(8).putLong(value); this }
  def raw(bytes: Array[Byte]): Output = { room(bytes.length).put(bytes); this }

  /** Unsigned LEB128. */
  def varint(value: Int): Output = {
    require(value >= 0, s"$value is negative")
    var rest = value
    while (rest >= 0x80) {
      byte(rest & 0x7f | 0x80)
      rest >>>= 7
    }
    byte(rest)
  }

  def bytes(value: Array[Byte]): Output = varint(value.length).raw(value)

  def text(value: String): Output = bytes(value.getBytes(StandardCharsets.UTF_8))

  /** Writes one presence byte, then the value if it is present. */
  def optional[T](value: Option[T])(write: T => Output): Output = {
    byte(if (value.isDefined) 1 else 0)
    value.foreach(write)
    this
  }

  def nullableLong(value: java.lang.Long): Output = optional(Option(value))(v => long(v))

  def longs(values: Array[Long]): Output = {
    varint(values.length)
    values.foreach(long)
    this
  }

  def pad(alignment: Int): Output = {
    while (size % alignment != 0) byte(0)
    this
  }

  private def room(count: Int): ByteBuffer = {
    if (buffer.remaining < count) {
      val grown = allocate(Math.max(Math.addExact(size, count), Math.min(size.toLong * 2, Int.MaxValue - 16L).toInt))
      buffer.flip()
      grown.put(buffer)
      buffer = grown
    }
    buffer
  }

  private def allocate(bytes: Int) = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN)
}
