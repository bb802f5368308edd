package zonemap.iceberg.store

import java.io.{FileNotFoundException, RandomAccessFile}
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, Path}
import java.util.concurrent.atomic.AtomicInteger

import scala.util.Using

import zonemap.core.io.{ByteSource, CorruptIndexException}

/**
 * A local file that others may cut off, overwrite or delete at any time: each read copies its range to the heap, so that
 * a checksum of what was read stays true. The file is opened for each read, which an interrupted thread survives. Thread-safe.
 *
 * @param wholeBytes a file up to this size is held whole once it was read often: its readers ask for many small ranges
 */
private[store] final class LocalFileSource(path: Path, wholeBytes: Long) extends ByteSource {
  import LocalFileSource._

  /** When it was opened; a file that is shorter by then is refused. */
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
        // before memory is taken for what is not there
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
      // the JDK throws it for whatever keeps a file from being opened
      case _: FileNotFoundException if Files.notExists(path) => throw new CorruptIndexException(s"'$path' is gone")
    }

  private def shorter = new CorruptIndexException(s"'$path' is shorter than recorded")

  override def close(): Unit = ()
}

private object LocalFileSource {
  private val ReadsBeforeWhole = 8

  /** The JDK copies what is read once more, by so much at once. */
  private val ChunkBytes = 256 << 10
}
