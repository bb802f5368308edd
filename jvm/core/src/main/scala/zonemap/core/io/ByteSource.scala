// SPDX-License-Identifier: Apache-2.0
package zonemap.core.io

import java.io.Closeable
import java.nio.channels.FileChannel
import java.nio.{ByteBuffer, ByteOrder}

/** The position of some bytes in a source. */
final private[zonemap] case class ByteRange(offset: Long, length: Int) {
  def end: Long = offset + length
}

/**
 * Immutable bytes with random access. Thread-safe. `read` throws an IOException when the medium fails; callers pass
 * only ranges inside `sizeBytes`.
 */
private[zonemap] trait ByteSource extends Closeable {
  def sizeBytes: Long

  /** A read-only little-endian buffer of exactly `length` bytes, position 0. The buffer stays valid after `close`. */
  def read(offset: Long, length: Int): ByteBuffer

  /** Whether `prefetch` has an effect: each read is a request, and concurrent requests take the time of one. */
  def isRemote: Boolean = false

  /** Whether reads are views of memory: they cost nothing, and bytes that were read once can be read again. */
  def isInMemory: Boolean = true

  /**
   * Starts fetching exactly these ranges, which the caller will read soon, and returns at once. A failure is reported
   * by the later `read`. A call affects only the time of reads.
   */
  def prefetch(ranges: Seq[ByteRange]): Unit = ()
}

private[zonemap] object ByteSource {

  /** A source over the array itself, not over a copy. */
  def ofBytes(bytes: Array[Byte]): ByteSource = new BufferSource(ByteBuffer.wrap(bytes))

  /**
   * A local file below 2 GB, memory-mapped as a whole, so that reads use the page cache and no heap. The file must be
   * one that no other process can open: a checksum of mapped bytes is valid only while the file does not change, and
   * truncating a mapped file ends the JVM. Deleting the file or closing the channel is safe. The mapping is released
   * when the last buffer is collected.
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
