package zonemap.iceberg.store

import java.io.EOFException
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, Path, Paths}

import scala.util.Using

import org.apache.iceberg.io.{FileIO, IOUtil, RangeReadable}

import zonemap.core.segment.{ByteSource, CorruptSegmentException}

/**
 * Byte ranges of one immutable file behind a `FileIO`.
 *
 * Local files are memory-mapped: the page cache is their memory. Elsewhere a small file is fetched whole by its first
 * read and kept, a larger one is read by range, one request a section. Thread-safe: every read opens its own stream.
 */
private[zonemap] object FileIOByteSource {

  /** Segments up to this size are fetched and kept whole. */
  val WholeFileBytes: Long = 1L << 20

  /**
   * Opens `location`.
   *
   * @param sizeBytes the size the index recorded for the file; `-1` asks the storage for it
   * @param wholeBytes files up to this size are fetched and kept whole
   * @throws CorruptSegmentException from reads of a file that is gone or shorter than recorded
   * @throws java.io.IOException or an unchecked Iceberg exception if the file cannot be read
   */
  def open(io: FileIO, location: String, sizeBytes: Long, wholeBytes: Long = WholeFileBytes): ByteSource =
    mapped(location).getOrElse(new Ranges(io, location, sizeBytes, wholeBytes))

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

  private def localPath(location: String): Option[Path] =
    if (location.startsWith("file:")) Some(Paths.get(location.stripPrefix("file:").replaceFirst("^/+", "/")))
    else if (location.startsWith("/")) Some(Paths.get(location))
    else None

  private final class Ranges(io: FileIO, location: String, knownSizeBytes: Long, wholeBytes: Long) extends ByteSource {
    private lazy val file =
      if (knownSizeBytes >= 0) io.newInputFile(location, knownSizeBytes) else io.newInputFile(location)

    override def sizeBytes: Long = if (knownSizeBytes >= 0) knownSizeBytes else file.getLength

    /** Up to this size one request costs less than one for every section, and the kept bytes spare later plans theirs. */
    @volatile private var whole = Option.empty[ByteBuffer]

    def isFetched: Boolean = whole.isDefined

    def release(): Unit = whole = None

    override def read(offset: Long, length: Int): ByteBuffer =
      if (sizeBytes > wholeBytes) fetch(offset, length)
      else wholeFile().slice(Math.toIntExact(offset), length).order(ByteOrder.LITTLE_ENDIAN)

    private def wholeFile(): ByteBuffer = whole.getOrElse(synchronized {
      whole.getOrElse {
        val bytes = fetch(0, sizeBytes.toInt)
        whole = Some(bytes)
        bytes
      }
    })

    /** What the index names is there whole, or the index is damaged. */
    private def fetch(offset: Long, length: Int): ByteBuffer =
      try {
        val bytes = new Array[Byte](length)
        Using.resource(file.newStream()) {
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
