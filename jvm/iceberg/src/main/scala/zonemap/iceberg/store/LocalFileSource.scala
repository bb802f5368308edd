// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.io.{FileNotFoundException, RandomAccessFile}
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, Path}
import java.util.concurrent.atomic.AtomicInteger

import scala.util.Using

import zonemap.core.io.{ByteSource, CorruptIndexException}

/**
 * Reads a local file that other processes may truncate, overwrite or delete at any time. Each read copies its range to
 * the heap, so that bytes whose checksum was verified cannot change. Each read opens the file, because interrupting a
 * thread closes a channel that other threads share. Thread-safe.
 *
 * @param wholeBytes a file up to this size is retained whole after several reads, because its readers need many small
 *   ranges
 */
private[store] final class LocalFileSource(path: Path, wholeBytes: Long) extends ByteSource {
  import LocalFileSource._

  /** The size of the file when it was opened; a read fails if the file has become shorter. */
  override val sizeBytes: Long = Files.size(path)

  @volatile private var whole: Array[Byte] = _
  private val reads = new AtomicInteger

  override def isInMemory: Boolean = false

  def isHeldWhole: Boolean = whole != null

  def release(): Unit = {
    whole = null
    reads.set(0)
  }

  override def read(offset: Long, length: Int): ByteBuffer = {
    val held = if (whole == null && isReadOften) holdWhole() else whole
    if (held == null) view(ByteBuffer.wrap(copied(offset, length)))
    else view(ByteBuffer.wrap(held).slice(offset.toInt, length))
  }

  private def isReadOften: Boolean = sizeBytes <= wholeBytes && reads.incrementAndGet() > ReadsBeforeWhole

  private def holdWhole(): Array[Byte] = synchronized {
    if (whole == null) whole = copied(0, Math.toIntExact(sizeBytes))
    whole
  }

  private def view(bytes: ByteBuffer): ByteBuffer = bytes.asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN)

  private def copied(offset: Long, length: Int): Array[Byte] =
    try
      StoreRequests.counted(Using.resource(new RandomAccessFile(path.toFile, "r")) { file =>
        // the length is compared before memory is allocated for bytes that do not exist
        if (file.length() < offset + length) throw shorter
        val bytes = new Array[Byte](length)
        file.seek(offset)
        var done = 0
        while (done < length) {
          val count = file.read(bytes, done, Math.min(length - done, ChunkBytes))
          if (count < 0) throw shorter
          done += count
        }
        bytes
      })
    catch {
      // the JDK throws this exception for every reason why a file cannot be opened
      case _: FileNotFoundException if Files.notExists(path) => throw new CorruptIndexException(s"'$path' is gone")
    }

  private def shorter = new CorruptIndexException(s"'$path' is shorter than recorded")

  override def close(): Unit = ()
}

private object LocalFileSource {
  private val ReadsBeforeWhole = 8

  /** The size of one read call: the JDK copies the bytes of each call through a temporary buffer of this size. */
  private val ChunkBytes = 256 << 10
}
