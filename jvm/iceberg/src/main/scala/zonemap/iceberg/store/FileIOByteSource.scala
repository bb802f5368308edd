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
 * Byte ranges of one immutable file behind a `FileIO`.
 *
 * What is read is copied first, so that what was checked stays as it was, whatever happens to the file. Local files are
 * read range by range ([[LocalFileSource]]). Elsewhere a small file is fetched whole by its first read and kept, a larger
 * one is read by range, what is asked for ahead in few requests side by side, the rest one request a section; what was
 * fetched stays in [[ColdCache]] when it is let go of here. Thread-safe: every fetch opens its own stream.
 */
private[zonemap] object FileIOByteSource {

  /** Segments up to this size are fetched and kept whole. */
  val WholeFileBytes: Long = 1L << 20

  /** The two ends of a larger file: what a segment is opened with comes with one request each. */
  private val EdgeBytes = 64 << 10

  /**
   * Opens `root/path`.
   *
   * @param root the folder of the table's index
   * @param sizeBytes the size the index recorded for the file
   * @param wholeBytes files up to this size are fetched and kept whole, local ones once they were read often
   * @throws CorruptIndexException from reads of a file that is gone or shorter than recorded
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

  /** The file, if it is a local one. */
  def local(location: String, wholeBytes: Option[Long] = None): Option[ByteSource] =
    localPath(location).filter(Files.isRegularFile(_)).map(new LocalFileSource(_, wholeBytes.getOrElse(0)))

  /** Bytes of a file from [[open]] that are kept with it, not by who read them. */
  def fetchedBytes(source: ByteSource): Long =
    source match {
      case ranges: Ranges if ranges.isFetched          => ranges.sizeBytes
      case local: LocalFileSource if local.isHeldWhole => local.sizeBytes
      case _                                           => 0
    }

  /** Lets go of what was fetched of a file from [[open]]; the next read fetches it again. */
  def release(source: ByteSource): Unit =
    source match {
      case ranges: Ranges         => ranges.release()
      case local: LocalFileSource => local.release()
      case _                      => ()
    }

  /** How often a file from [[open]] was not at hand, so that its storage or the cold cache was asked. */
  def coldReads(source: ByteSource): Long =
    source match {
      case ranges: Ranges => ranges.coldReads.sum()
      case _              => 0
    }

  /** Whether reads of a location are requests, which take their time side by side. */
  def isRemote(location: String): Boolean = localPath(location).isEmpty

  /** What is fetched from one folder shares its threads. */
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

    /** Up to this size one request costs less than one for every section, and the kept bytes spare later plans theirs. */
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
        val asked = ByteRange(offset, length)
        val fetched = around(asked)
        slice(cold(fetched), offset - fetched.offset, length)
      }

    override def prefetch(ranges: Seq[ByteRange]): Unit =
      if (!isSmall) ahead.start(ranges.map(around))
      else if (whole.isEmpty && ranges.nonEmpty && !access.fetches.isStuck(root)) startWhole(): Unit

    private def slice(bytes: ByteBuffer, offset: Long, length: Int) =
      bytes.slice(Math.toIntExact(offset), length).order(ByteOrder.LITTLE_ENDIAN)

    /** The end of the file that holds the range, else the range itself. */
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
        // what fails for another, or ahead of time, is asked for again
        try underWay.await(root)
        catch {
          case slow: StoreSlowException => throw slow
          case NonFatal(_)              => startWhole().await(root)
        }
    }

    /** One request, whoever needs the file. */
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
      // waits first: what is no longer under way then is in the cache
      val awaited = ahead.await(range)
      awaited.fold(inBudget(range))(bytes => access.cold.read(coldRange(range))(bytes))
    }

    /** A plan does not make the request itself, so that it can stop waiting; what comes later is in the cache then. */
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

    /** What the index names is there whole, or the index is damaged. */
    private def fetch(range: ByteRange): ByteBuffer =
      try {
        val bytes = new Array[Byte](range.length)
        access.requests.timed(root) {
          Using.resource(io.newInputFile(location, sizeBytes).newStream()) {
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

/** One request for bytes that another thread makes. */
private[store] final class StoreFetch {
  private val bytes = new CompletableFuture[ByteBuffer]
  private val started = System.nanoTime()

  /** @param ended done before the bytes are handed out, or the failure */
  def complete(ended: => Unit)(fetch: => ByteBuffer): Unit =
    Completion.of(bytes)(ended)(fetch)

  /** Each reader has a position of its own. */
  def await(store: String): ByteBuffer =
    StoreBudget
      .await(store, bytes, () => System.nanoTime() - started)
      .duplicate()
      .order(ByteOrder.LITTLE_ENDIAN)
}
