// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.io.EOFException
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, Path, Paths}
import java.util.concurrent.CompletableFuture
import java.util.concurrent.atomic.{AtomicReference, LongAdder}

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.iceberg.io.{FileIO, IOUtil, RangeReadable}

import zonemap.core.io.{ByteRange, ByteSource, CorruptIndexException}

/**
 * Reads byte ranges of one immutable file behind a `FileIO`.
 *
 * Each read copies its range, so that bytes whose checksum was verified cannot change when the file does. Local files
 * are read range by range ([[LocalFileSource]]). The first read of a small remote file fetches the whole file and
 * retains it. Larger remote files are read by range: a prefetch combines ranges into a few parallel requests, and every
 * other section takes one request. [[ColdCache]] still holds the fetched bytes after this source releases them.
 * Thread-safe: every fetch opens its own stream.
 */
private[zonemap] object FileIOByteSource {

  /** Segments up to this size are fetched and retained whole. */
  val WholeFileBytes: Long = 1L << 20

  /**
   * The size of the two ends of a larger file. One request for each end fetches all sections that opening a segment
   * needs.
   */
  private val EdgeBytes = 64 << 10

  /**
   * Opens `root/path`. Reads go through the FileIO with which `access` has used the store last.
   *
   * @param root the folder of the table's index
   * @param sizeBytes the size that the index recorded for the file
   * @param wholeBytes remote files up to this size are fetched and retained whole, local files after several reads
   * @throws CorruptIndexException from reads, if the file is missing or shorter than recorded
   * @throws java.io.IOException or an unchecked Iceberg exception if the file cannot be read
   */
  def open(
      io: FileIO,
      root: String,
      path: String,
      sizeBytes: Long,
      access: StoreAccess,
      wholeBytes: Option[Long] = None): ByteSource =
    local(s"$root/$path", wholeBytes).getOrElse(
      new Ranges(io, root, path, sizeBytes, access, wholeBytes.getOrElse(WholeFileBytes)))

  /** The file at `location` if it is a local file. */
  def local(location: String, wholeBytes: Option[Long] = None): Option[ByteSource] =
    localPath(location).filter(Files.isRegularFile(_)).map(new LocalFileSource(_, wholeBytes.getOrElse(0)))

  /** The number of bytes that a source from [[open]] itself retains; its readers may retain copies of their own. */
  def fetchedBytes(source: ByteSource): Long =
    source match {
      case ranges: Ranges if ranges.isFetched          => ranges.sizeBytes
      case local: LocalFileSource if local.isHeldWhole => local.sizeBytes
      case _                                           => 0
    }

  /** Releases the fetched bytes of a source from [[open]]; the next read fetches them again. */
  def release(source: ByteSource): Unit =
    source match {
      case ranges: Ranges         => ranges.release()
      case local: LocalFileSource => local.release()
      case _                      => ()
    }

  /** How often a source from [[open]] had to read the cold cache or remote storage. */
  def coldReads(source: ByteSource): Long =
    source match {
      case ranges: Ranges => ranges.coldReads.sum()
      case _              => 0
    }

  /** Whether reads of a location are remote requests, which are faster in parallel. */
  def isRemote(location: String): Boolean = localPath(location).isEmpty

  /** The folder of a location. All fetches from one folder share the threads of one store. */
  def folderOf(location: String): String = location.substring(0, Math.max(0, location.lastIndexOf('/')))

  private def localPath(location: String): Option[Path] =
    if (location.startsWith("file:")) Some(Paths.get(location.stripPrefix("file:").replaceFirst("^/+", "/")))
    else if (location.startsWith("/")) Some(Paths.get(location))
    else None

  private final class Ranges(
      io: FileIO,
      root: String,
      path: String,
      override val sizeBytes: Long,
      access: StoreAccess,
      wholeBytes: Long)
      extends ByteSource {
    private val location = s"$root/$path"
    val coldReads = new LongAdder

    /**
     * The whole file, if it is small. One request for all of it costs less than one request for each section, and later
     * plans read the retained bytes without a request.
     */
    @volatile private var whole = Option.empty[ByteBuffer]
    private val wholeUnderWay = new AtomicReference[StoreFetch]

    def isFetched: Boolean = whole.isDefined

    def release(): Unit = whole = None

    private val isSmall = sizeBytes <= wholeBytes
    private val ahead = new RangePrefetch(fetch, coldRange, access)

    override def isRemote: Boolean = true

    override def isInMemory: Boolean = false

    override def read(offset: Long, length: Int): ByteBuffer =
      if (isSmall) slice(wholeFile(), offset, length)
      else {
        val requested = ByteRange(offset, length)
        val fetched = around(requested)
        slice(cold(fetched), offset - fetched.offset, length)
      }

    override def prefetch(ranges: Seq[ByteRange]): Unit =
      if (!isSmall) ahead.start(ranges.map(around))
      else if (whole.isEmpty && ranges.nonEmpty && !access.fetches.isStuck(root)) startWhole(): Unit

    private def slice(bytes: ByteBuffer, offset: Long, length: Int) =
      bytes.slice(Math.toIntExact(offset), length).order(ByteOrder.LITTLE_ENDIAN)

    /** The end of the file that contains the range, else the range itself. */
    private def around(range: ByteRange): ByteRange =
      if (range.end <= EdgeBytes && sizeBytes >= EdgeBytes) ByteRange(0, EdgeBytes)
      else if (range.offset >= sizeBytes - EdgeBytes && sizeBytes >= EdgeBytes)
        ByteRange(sizeBytes - EdgeBytes, EdgeBytes)
      else range

    private def wholeFile(): ByteBuffer = whole.getOrElse {
      StoreBudget.refuseIfStuck(access.fetches, root)
      val underWay = wholeUnderWay.get
      if (underWay == null) startWhole().await(root)
      else
        // a fetch that another reader or a prefetch started may have failed; this reader fetches the file again
        try underWay.await(root)
        catch {
          case slow: StoreSlowException => throw slow
          case NonFatal(_)              => startWhole().await(root)
        }
    }

    /** Starts a request for the whole file, or returns the request that is already under way. */
    private def startWhole(): StoreFetch = {
      val mine = new StoreFetch
      Option(wholeUnderWay.compareAndExchange(null, mine)).getOrElse {
        coldReads.increment()
        def ended(): Unit = wholeUnderWay.set(null)
        try
          access.fetches.execute(root) {
            mine.complete(ended()) {
              val range = ByteRange(0, sizeBytes.toInt)
              val bytes = access.cold.read(coldRange(range))(fetch(range))
              whole = Some(bytes)
              bytes
            }
          }
        catch { case NonFatal(e) => ended(); throw e }
        mine
      }
    }

    private def cold(range: ByteRange): ByteBuffer = {
      coldReads.increment()
      // this waits for the prefetch first: a range that is no longer being fetched is in the cache
      val awaited = ahead.await(range)
      awaited.fold(inBudget(range))(bytes => access.cold.read(coldRange(range))(bytes))
    }

    /**
     * Fetches a range. For a plan, which waits for a limited time only, another thread makes the request: the plan can
     * then stop waiting, and later plans find the bytes in the cache.
     */
    private def inBudget(range: ByteRange): ByteBuffer =
      if (StoreBudget.current.isEmpty) access.cold.read(coldRange(range))(fetch(range))
      else
        access.cold.find(coldRange(range)).getOrElse {
          StoreBudget.refuseIfStuck(access.fetches, root)
          val mine = new StoreFetch
          access.fetches.execute(root)(mine.complete(())(access.cold.read(coldRange(range))(fetch(range))))
          mine.await(root)
        }

    private def coldRange(range: ByteRange) = ColdRange(root, path, range.offset, range.length)

    /**
     * Fetches a range. A missing or short file proves that the index is damaged, because the index recorded its size.
     */
    private def fetch(range: ByteRange): ByteBuffer =
      try {
        val bytes = new Array[Byte](range.length)
        access.requests.timed(root) {
          val newest = access.ioOf(root).getOrElse(io)
          Using.resource(newest.newInputFile(location, sizeBytes).newStream()) {
            case ranges: RangeReadable => ranges.readFully(range.offset, bytes)
            case stream =>
              stream.seek(range.offset)
              IOUtil.readFully(stream, bytes, 0, range.length)
          }
        }
        ByteBuffer.allocateDirect(range.length).put(bytes).flip().order(ByteOrder.LITTLE_ENDIAN)
      } catch {
        case _: EOFException => throw new CorruptIndexException(s"'$location' is shorter than recorded")
        case NotFound()      => throw new CorruptIndexException(s"'$location' is gone")
      }

    override def close(): Unit = ()
  }
}

/** A request for bytes that another thread makes. */
private[store] final class StoreFetch {
  private val bytes = new CompletableFuture[ByteBuffer]
  private val started = System.nanoTime()

  /** @param ended runs before waiting readers get the bytes or the failure */
  def complete(ended: => Unit)(fetch: => ByteBuffer): Unit =
    Completion.of(bytes)(ended)(fetch)

  /** Waits for the bytes. Each reader gets a buffer of its own, because a buffer has one position. */
  def await(store: String): ByteBuffer =
    StoreBudget
      .await(store, bytes, () => System.nanoTime() - started)
      .duplicate()
      .order(ByteOrder.LITTLE_ENDIAN)
}
