package zonemap.iceberg.store

import java.io.{EOFException, FileNotFoundException}
import java.util.concurrent.ThreadLocalRandom

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.hadoop.fs.ChecksumException
import org.apache.iceberg.Table
import org.apache.iceberg.exceptions.NotFoundException
import org.apache.iceberg.io.{FileIO, SupportsPrefixOperations}

import zonemap.core.fact.FactKind
import zonemap.core.segment.{ByteSource, CorruptSegmentException, FactRef, SegmentRef, VersionFile}

/**
 * The files of one table's index, under `<table location>/_zonemaps_v2/<table uuid>/`.
 *
 * Segments are immutable and no two writers give one the same name, so writing needs no lock, no compare-and-swap and
 * no listing, and whoever reads a name out of a version finds the whole file. Versions and `latest` may be replaced by
 * equivalent ones; a torn one is a damaged one. Anything may vanish at any time (other engines remove files they do
 * not know): a missing file answers `None`. See docs/design/FORMAT.md for the bytes.
 *
 * Thread-safe.
 *
 * @param root the folder of this table's index, without a trailing slash
 */
private[zonemap] final class IndexStore(io: FileIO, val root: String) {

  /**
   * The version recorded for a snapshot, if there is one.
   *
   * @throws CorruptSegmentException if the file is there and cannot be understood
   */
  def readVersion(snapshotId: Long): Option[VersionFile] =
    readAll(versionLocation(snapshotId)).map(VersionFile.decode)

  /** The snapshot id of the version written last, if the hint can be read: it may be stale. */
  def readLatest(): Option[Long] =
    try readAll(latestLocation).flatMap(bytes => new String(bytes, "UTF-8").trim.toLongOption)
    catch { case _: CorruptSegmentException => None }

  def openSegment(ref: SegmentRef): ByteSource =
    FileIOByteSource.open(io, root, ref.relativePath, ref.sizeBytes)

  /** A segment in a local file; `None` where the store is elsewhere. */
  def local(ref: SegmentRef): Option[ByteSource] = FileIOByteSource.local(s"$root/${ref.relativePath}")

  /**
   * Writes one segment; the name says the sequence numbers it covers, the hash of its content, and a random number:
   * where files appear before they are whole, a maintainer at the same work must not take ours for its own.
   */
  def writeSegment(level: Level, firstSequence: Long, lastSequence: Long, hash: String, bytes: Array[Byte]): String = {
    val relativePath = s"segments/${level.name}/$firstSequence-$lastSequence-$hash-$newWriter.${level.suffix}"
    write(s"$root/$relativePath", bytes)
    relativePath
  }

  /** Writes one file of facts, under a name that no other writer gives. */
  def writeFacts(kind: FactKind, fieldId: Int, hash: String, bytes: Array[Byte]): String = {
    val relativePath = s"${IndexStore.Facts}/${kind.name}/$fieldId/$hash-$newWriter.zmf"
    write(s"$root/$relativePath", bytes)
    relativePath
  }

  private def newWriter: String = f"${ThreadLocalRandom.current().nextInt()}%08x"

  /** Facts are asked for many data files at once, so more of their bytes come with one request. */
  def openFacts(ref: FactRef): ByteSource =
    FileIOByteSource.open(io, root, ref.relativePath, ref.sizeBytes, Some(IndexStore.WholeFactsBytes))

  /** Whether a file is there and holds just these bytes. */
  def holds(relativePath: String, bytes: Array[Byte]): Boolean =
    try readAll(s"$root/$relativePath").exists(java.util.Arrays.equals(_, bytes))
    catch { case _: CorruptSegmentException => false }

  /** Writes a version and, after it, the hint that names it. */
  def writeVersion(version: VersionFile): Unit = {
    write(versionLocation(version.snapshotId), VersionFile.encode(version))
    write(latestLocation, s"${version.snapshotId}\n".getBytes("UTF-8"))
  }

  /**
   * Every file of the store.
   *
   * Lists when the `FileIO` can; else follows the `latest` hint and the given snapshots.
   */
  def files(snapshotIds: Seq[Long]): Seq[String] =
    io match {
      case _: SupportsPrefixOperations => list().map(file => s"$root/${file.relativePath}").sorted
      case _ =>
        val versions = (readLatest().toSeq ++ snapshotIds).distinct.flatMap { id =>
          try readVersion(id)
          catch { case _: CorruptSegmentException => None }
        }
        val segments = versions.flatMap(_.fileNames).distinct
        val named = versions.map(v => versionLocation(v.snapshotId)) ++ segments.map(p => s"$root/$p")
        if (named.isEmpty) Nil else named :+ latestLocation
    }

  /** A listed location as this store writes it: some listings add or drop the scheme and the authority. */
  private def underRoot(location: String): Option[String] = {
    val (path, rootPath) = (IndexStore.withoutScheme(location), IndexStore.withoutScheme(root))
    Option.when(path.startsWith(rootPath + "/"))(root + path.substring(rootPath.length))
  }

  /**
   * Every file of the store with its size and age.
   *
   * @throws UnsupportedOperationException if the `FileIO` cannot list
   */
  def list(): Seq[StoredFile] =
    io match {
      case listing: SupportsPrefixOperations =>
        try
          listing
            .listPrefix(root + "/")
            .asScala
            .iterator
            .flatMap { info =>
              underRoot(info.location()).map { location =>
                StoredFile(location.substring(root.length + 1), info.size(), info.createdAtMillis())
              }
            }
            .toSeq
        catch { case NotFound() => Nil }
      case other =>
        throw new UnsupportedOperationException(
          s"Cannot list the index store '$root': ${other.getClass.getName} does not list files. Set the catalog's io-impl " +
            "to a FileIO that does, or delete the folder; the index is made anew by CALL zonemap.system.build.")
    }

  /** Deletes files of this store. */
  def delete(locations: Seq[String]): Unit = locations.foreach { location =>
    require(location.startsWith(root + "/"), s"Cannot delete '$location': it is not in the index store '$root'.")
    try io.deleteFile(location)
    catch { case NotFound() => () }
  }

  private def versionLocation(snapshotId: Long): String = s"$root/${IndexStore.Versions}/$snapshotId"
  private def latestLocation: String = s"$root/latest"

  private def write(location: String, bytes: Array[Byte]): Unit =
    try Using.resource(io.newOutputFile(location).createOrOverwrite())(_.write(bytes))
    catch { case NonFatal(e) => throw new StoreWriteException(root, e) }

  private def readAll(location: String): Option[Array[Byte]] =
    try {
      // not asked for its length first, which would be a request of its own
      val bytes =
        StoreRequests.timed(root) {
          Using.resource(io.newInputFile(location).newStream())(_.readNBytes(IndexStore.MaxControlFileBytes + 1))
        }
      if (bytes.length > IndexStore.MaxControlFileBytes)
        throw new CorruptSegmentException(
          s"'$location' has more than the ${IndexStore.MaxControlFileBytes} bytes it may have")
      Some(bytes)
    } catch {
      case NotFound() => None
      // torn by two writers, or cut off while it was read
      case e @ (_: ChecksumException | _: EOFException) => throw new CorruptSegmentException(s"'$location': $e")
    }
}

/** The index store of a table cannot be written. */
private[zonemap] final class StoreWriteException(root: String, cause: Throwable)
    extends RuntimeException(
      s"Cannot write the index store '$root': $cause. Grant write access to it, or name another folder by " +
        "spark.sql.zonemap.store.location.",
      cause)

private[zonemap] object IndexStore {
  val FolderName = "_zonemaps_v2"
  val Versions = "versions"
  val Segments = "segments"
  val Facts = "facts"
  private val WholeFactsBytes = 32L << 20
  private val MaxControlFileBytes = 256 << 20

  /** Where the index of `table` is kept: beside the table, or under the configured location. */
  def of(table: Table, storeLocation: Option[String]): IndexStore = {
    val parent = storeLocation.map(stripSlash).getOrElse(s"${stripSlash(table.location())}/$FolderName")
    new IndexStore(table.io(), s"$parent/${table.uuid()}")
  }

  private def withoutScheme(location: String): String = location.replaceFirst("^[a-zA-Z][a-zA-Z0-9+.-]*:(//[^/]*)?", "")

  private def stripSlash(location: String): String = location.replaceFirst("/+$", "")
}

/** A file of a store: its name under the root, and what a listing says of it. */
private[zonemap] final case class StoredFile(relativePath: String, sizeBytes: Long, createdAtMillis: Long)

/** Matches the ways a `FileIO` says that a file is not there. */
private[zonemap] object NotFound {
  def unapply(error: Throwable): Boolean =
    error match {
      case _: NotFoundException | _: FileNotFoundException | _: java.nio.file.NoSuchFileException => true
      case NonFatal(e) if e.getCause != null && (e.getCause ne e)                                 => unapply(e.getCause)
      case NonFatal(e)                                                                            => isMissingInS3(e)
      case _                                                                                      => false
    }

  /** S3FileIO passes on exceptions of the SDK, classes we do not link. */
  private def isMissingInS3(error: Throwable): Boolean =
    Seq(".NoSuchKeyException", ".NoSuchBucketException").exists(error.getClass.getName.endsWith)
}
