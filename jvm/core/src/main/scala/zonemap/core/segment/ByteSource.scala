package zonemap.core.segment

import java.io.Closeable
import java.nio.channels.FileChannel
import java.nio.{ByteBuffer, ByteOrder}

/** Where some bytes of a source are. */
final private[zonemap] case class ByteRange(offset: Long, length: Int) {
  def end: Long = offset + length
}

/**
 * Immutable bytes at random access. Thread-safe. `read` throws an IOException when the medium fails; callers ask only
 * for ranges inside `sizeBytes`.
 */
private[zonemap] trait ByteSource extends Closeable {
  def sizeBytes: Long

  /** A read-only little-endian buffer of exactly `length` bytes, position 0. It stays valid after `close`. */
  def read(offset: Long, length: Int): ByteBuffer

  /** Whether `prefetch` does anything: reads are requests, and side by side they take the time of one. */
  def isRemote: Boolean = false

  /** Whether reads are views of memory: they cost nothing, and bytes that were read once can be read again. */
  def isInMemory: Boolean = true

  /**
   * Says what is about to be read, in just these ranges. Returns at once; what fails shows when it is read. Nothing
   * depends on it but time.
   */
  def prefetch(ranges: Seq[ByteRange]): Unit = ()
}

private[zonemap] object ByteSource {

  /** The array itself, not a copy. */
  def ofBytes(bytes: Array[Byte]): ByteSource = new BufferSource(ByteBuffer.wrap(bytes))

  /**
   * A local file below 2 GB, memory-mapped whole: reads cost page cache, no heap. Only for a file that nobody else can
   * open: a checksum of mapped bytes holds no longer than the file stays as it is, and a mapped file that gets shorter
   * ends the JVM. Deleting the file or closing the channel does no harm. The mapping goes when the last buffer is collected.
   */
  def mapped(channel: FileChannel): ByteSource = {
    val size = channel.size
    require(size <= Int.MaxValue, s"Cannot map a file of $size bytes: it has more than 2 GB. Keep it in memory.")
    new BufferSource(channel.map(FileChannel.MapMode.READ_ONLY, 0, size))
  }

  final private class BufferSource(buffer: ByteBuffer) extends ByteSource {
    override val sizeBytes: Long = buffer.capacity.toLong

    override def read(offset: Long, length: Int): ByteBuffer =
      buffer.slice(Math.toIntExact(offset), length).asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN)

    override def close(): Unit = ()
  }
}
