// SPDX-License-Identifier: Apache-2.0
package zonemap.core.io

import java.nio.charset.StandardCharsets
import java.nio.{BufferUnderflowException, ByteBuffer}

/**
 * Reads bytes written by [[Output]]. Counts and lengths are checked against the remaining bytes before memory is
 * allocated, so damaged input cannot cause large allocations. Not thread-safe.
 */
final private[core] class Input(buffer: ByteBuffer) {

  def remaining: Int = buffer.remaining

  def byte(): Int = buffer.get() & 0xff
  def short(): Int = buffer.getShort() & 0xffff
  def int(): Int = buffer.getInt()
  def long(): Long = buffer.getLong()

  def varint(): Int = {
    var value = 0L
    var shift = 0
    var next = byte()
    while ((next & 0x80) != 0 && shift < 28) {
      value |= (next & 0x7fL) << shift
      shift += 7
      next = byte()
    }
    value |= next.toLong << shift
    if (value > Int.MaxValue) Input.damaged(s"a length of $value")
    value.toInt
  }

  /** Reads a count of items of at least `itemBytes` bytes each; more than `most` items count as damage. */
  def count(itemBytes: Int, most: Int = Int.MaxValue): Int = {
    val found = checked(varint(), itemBytes)
    if (found > most) Input.damaged(s"$found items, of at most $most")
    found
  }

  def checked(count: Int, itemBytes: Int): Int = {
    if (count < 0 || count.toLong * itemBytes > remaining) Input.damaged(s"$count items in $remaining bytes")
    count
  }

  def raw(length: Int): Array[Byte] = {
    val out = new Array[Byte](checked(length, 1))
    buffer.get(out)
    out
  }

  def bytes(): Array[Byte] = raw(varint())

  def text(): String = new String(bytes(), StandardCharsets.UTF_8)

  def optional[T](read: => T): Option[T] = byte() match {
    case 0     => None
    case 1     => Some(read)
    case other => Input.damaged(s"a presence byte of $other")
  }

  def nullableLong(): java.lang.Long = optional(long()).map(Long.box).orNull

  def longs(): Array[Long] = Array.fill(count(8))(long())

  /** Consumes the next `length` bytes and returns them as a little-endian view. */
  def view(length: Int): ByteBuffer = {
    val out = buffer.slice(buffer.position(), checked(length, 1)).order(buffer.order())
    buffer.position(buffer.position() + length)
    out
  }

  /** Skips the next `length` bytes and returns their start position. */
  def skip(length: Int): Int = {
    val start = buffer.position()
    buffer.position(start + checked(length, 1))
    start
  }

  def end(what: String): Unit = if (remaining != 0) Input.damaged(s"$what is followed by $remaining unexpected bytes")
}

private[core] object Input {

  def damaged(what: String): Nothing = throw new CorruptIndexException(s"Damaged: $what")

  /**
   * Runs a decoder. Exceptions caused by malformed bytes become a CorruptIndexException. So does an OutOfMemoryError:
   * data that does not fit in memory cannot be used, and would not fit for the next query either.
   */
  def decoding[T](what: String)(decode: => T): T =
    try decode
    catch {
      case e: LaterFormatException  => throw new LaterFormatException(s"$what: ${e.getMessage}")
      case e: CorruptIndexException => throw new CorruptIndexException(s"$what: ${e.getMessage}", e)
      case e @ (_: BufferUnderflowException | _: IndexOutOfBoundsException | _: IllegalArgumentException |
          _: ArithmeticException | _: NegativeArraySizeException) =>
        throw new CorruptIndexException(s"$what: damaged (${e.getMessage})", e)
      case e: OutOfMemoryError =>
        throw new CorruptIndexException(s"$what: it needs more memory than is available (${e.getMessage})", e)
    }
}
