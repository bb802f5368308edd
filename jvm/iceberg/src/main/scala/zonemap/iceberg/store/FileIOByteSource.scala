package zonemap.iceberg.store

import java.io.EOFException
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, Path, Paths}
import java.util.concurrent.atomic.LongAdder

import scala.util.Using

import org.apache.iceberg.io.{FileIO, IOUtil, RangeReadable}

import zonemap.core.segment.{ByteSource, CorruptSegmentException}

/**
 * Byte ranges of one immutable file behind a `FileIO`.
 *
 * Local files are memory-mapped: the page cache is their memory. Elsewhere a small file is fetched whole by its first
 * read and kept, a larger one is read by range, one request a section; what was fetched stays in [[ColdCache]] when it
 * is let go of here. Thread-safe: every read opens its own stream.
 */
private[zonemap] object FileIOByteSource {

  /** Segments up to this size are fetched and kept whole. */
  val WholeFileBytes: Long = 1L << 20

  /**
   * Opens `root/path`.
   *
   * @param root the folder of the table's index
   * @param sizeBytes the size the index recorded for the file
   * @param wholeBytes files up to this size are fetched and kept whole
   * @throws CorruptSegmentException from reads of a file that is gone or shorter than recorded
   * @throws java.io.IOException or an unchecked Iceberg exception if the file cannot be read
   */
  def open(io: FileIO, root: String, path: String, sizeBytes: Long, wholeBytes: Long = WholeFileBytes): ByteSource =
    mapped(s"$root/$path").getOrElse(new Ranges(io, root, path, sizeBytes, wholeBytes))

  /** The file memory-mapped, if it is a local one. */
  def mapped(location: String): Option[ByteSource] =
    localPath(location).filter(Files.isRegularFile(_)).map(ByteSource.mapped)

  /** Bytes of a file from [[open]] that were fetched and are kept; mapped files keep none. */
  def fetchedBytes(source: ByteSource): Long =
    source match {
      case ranges: Ranges if ranges.isFetched => ranges.sizeBytes
      case _                                  => 0
    }

  /** Lets go of what was fetched of a file from [[open]]; the next read fetches it again. */
  def release(source: ByteSource): Unit =
    source match {
      case ranges: Ranges => ranges.release()
      case _              => ()
    }

  /** How often a file from [[open]] was not at hand, so that its storage or the cold cache was asked. */
  def coldReads(source: ByteSource): Long =
    source match {
      case ranges: Ranges => ranges.coldReads.sum()
      case _              => 0
    }

  private def localPath(location: String): Option[Path] =
    if (location.startsWith("file:")) Some(Paths.get(location.stripPrefix("file:").replaceFirst("^/+", "/")))
    else if (location.startsWith("/")) Some(Paths.get(location))
    else None

  private final class Ranges(io: FileIO, root: String, path: String, override val sizeBytes: Long, wholeBytes: Long)
      extends ByteSource {
    private val location = s"$root/$path"
    val coldReads = new LongAdder

    /** Up to this size one request costs less than one for every section, and the kept bytes spare later plans theirs. */
    @volatile private var whole = Option.empty[ByteBuffer]

    def isFetched: Boolean = whole.isDefined

    def release(): Unit = whole = None

    override def read(offset: Long, length: Int): ByteBuffer =
      if (sizeBytes > wholeBytes) cold(offset, length)
      else wholeFile().slice(Math.toIntExact(offset), length).order(ByteOrder.LITTLE_ENDIAN)

    private def wholeFile(): ByteBuffer = whole.getOrElse(synchronized {
      whole.getOrElse {
        val bytes = cold(0, sizeBytes.toInt)
        whole = Some(bytes)
        bytes
      }
    })

    private def cold(offset: Long, length: Int): ByteBuffer = {
      coldReads.increment()
      ColdCache.read(ColdRange(root, path, offset, length))(fetch(offset, length))
    }

    /** What the index names is there whole, or the index is damaged. */
    private def fetch(offset: Long, length: Int): ByteBuffer =
      try {
        val bytes = new Array[Byte](length)
        Using.resource(io.newInputFile(location, sizeBytes).newStream()) {
          case ranges: RangeReadable => ranges.readFully(offset, bytes)
          case stream =>
            stream.seek(offset)
            IOUtil.readFully(stream, bytes, 0, length)
        }
        ByteBuffer.allocateDirect(length).put(bytes).flip().order(ByteOrder.LITTLE_ENDIAN)
      } catch {
        case _: EOFException => throw new CorruptSegmentException(s"'$location' is shorter than recorded")
        case NotFound()      => throw new CorruptSegmentException(s"'$location' is gone")
      }

    override def close(): Unit = ()
  }
}
