package zonemap.core.segment

import java.nio.charset.StandardCharsets
import java.nio.{BufferUnderflowException, ByteBuffer}

/**
 * Reads what [[Output]] wrote. Counts and lengths are checked against the bytes left before anything is allocated, so
 * damaged input costs no memory. Not thread-safe.
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

  /** A count of items that take at least `itemBytes` each, at most `most`. */
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

  /** The next `length` bytes as a little-endian view. */
  def view(length: Int): ByteBuffer = {
    val out = buffer.slice(buffer.position(), checked(length, 1)).order(buffer.order())
    buffer.position(buffer.position() + length)
    out
  }

  /** Passes over the next `length` bytes; answers where they start. */
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
   * Runs a decoder; whatever it throws on malformed bytes becomes a CorruptIndexException. So does a lack of memory:
   * what does not fit is of no use, and would not fit the next query either.
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
