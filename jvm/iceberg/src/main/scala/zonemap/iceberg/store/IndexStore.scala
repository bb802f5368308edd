package zonemap.iceberg.store

import java.io.{EOFException, FileNotFoundException, InputStream}
import java.util.concurrent.ThreadLocalRandom

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.hadoop.fs.ChecksumException
import org.apache.iceberg.Table
import org.apache.iceberg.exceptions.NotFoundException
import org.apache.iceberg.io.{FileIO, SupportsPrefixOperations}

import zonemap.core.fact.FactKind
import zonemap.core.io.{ByteSource, CorruptIndexException}
import zonemap.core.version.{FactRef, SegmentRef, StoreNames, VersionFile}

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
 * @param access what requests to all stores share
 */
private[zonemap] final class IndexStore(io: FileIO, val root: String, val access: StoreAccess) {
  private val folder = new StoreFolder(root)

  /**
   * The version recorded for a snapshot, if there is one.
   *
   * @throws CorruptIndexException if the file is there and cannot be understood
   */
  def readVersion(snapshotId: Long): Option[VersionFile] =
    readAll(versionName(snapshotId))(wholeVersion).map(VersionFile.decode)

  /** The snapshot id of the version written last, if the hint can be read: it may be stale. */
  def readLatest(): Option[Long] =
    try
      readAll(StoreNames.Latest)(upTo(IndexStore.MaxLatestBytes))
        .filter(_.length <= IndexStore.MaxLatestBytes)
        .flatMap(bytes => new String(bytes, "UTF-8").trim.toLongOption)
    catch { case _: CorruptIndexException => None }

  def openSegment(ref: SegmentRef): ByteSource = {
    folder.check(ref.relativePath)
    FileIOByteSource.open(io, root, ref.relativePath, ref.sizeBytes, access)
  }

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
  def openFacts(ref: FactRef): ByteSource = {
    folder.check(ref.relativePath)
    FileIOByteSource.open(io, root, ref.relativePath, ref.sizeBytes, access, Some(IndexStore.WholeFactsBytes))
  }

  /** Whether a file is there and holds just these bytes. */
  def holds(relativePath: String, bytes: Array[Byte]): Boolean =
    try readAll(relativePath)(upTo(bytes.length)).exists(java.util.Arrays.equals(_, bytes))
    catch { case _: CorruptIndexException => false }

  /** Writes a version and, after it, the hint that names it. */
  def writeVersion(version: VersionFile): Unit = {
    write(s"$root/${versionName(version.snapshotId)}", VersionFile.encode(version))
    write(s"$root/${StoreNames.Latest}", s"${version.snapshotId}\n".getBytes("UTF-8"))
  }

  /**
   * Every file of the store.
   *
   * Lists when the `FileIO` can; else follows the `latest` hint and the given snapshots to versions of the table.
   */
  def files(snapshotIds: Seq[Long], tableUuid: String): Seq[String] =
    io match {
      case _: SupportsPrefixOperations => list().map(file => s"$root/${file.relativePath}").sorted
      case _ =>
        val named = (readLatest().toSeq ++ snapshotIds).distinct.flatMap { id =>
          try readVersion(id).filter(_.tableUuid == tableUuid).toSeq.flatMap(versionName(id) +: _.fileNames)
          catch { case _: CorruptIndexException => Seq(versionName(id)) }
        }
        val all = if (named.isEmpty) Nil else named.distinct :+ StoreNames.Latest
        all.filter(folder.holds).map(name => s"$root/$name")
    }

  /** A listed location as this store writes it: some listings add or drop the scheme and the authority. */
  private def underRoot(location: String): Option[String] = {
    val (path, rootPath) = (IndexStore.withoutScheme(location), IndexStore.withoutScheme(root))
    Option.when(path.startsWith(rootPath + "/"))(root + path.substring(rootPath.length))
  }

  /**
   * Every file of the store with its size and age: files of other names, and those reached through symbolic links that
   * leave the folder, belong to others.
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
            .filter(file => StoreNames.isOwn(file.relativePath) && folder.holds(file.relativePath))
            .toSeq
        catch { case NotFound() => Nil }
      case other =>
        throw new UnsupportedOperationException(
          s"Cannot list the index store '$root': ${other.getClass.getName} does not list files. Set the catalog's io-impl " +
            "to a FileIO that does, or delete the folder; CALL zonemap.system.build then builds the index anew.")
    }

  /** The snapshots that have a version, whether it can be read or not; empty if the `FileIO` cannot list. */
  def versionIds(): Set[Long] =
    io match {
      case listing: SupportsPrefixOperations =>
        try
          listing
            .listPrefix(s"$root/${IndexStore.Versions}/")
            .asScala
            .iterator
            .flatMap(info => underRoot(info.location()))
            .map(location => StoredFile(location.substring(root.length + 1), 0L, 0L))
            .flatMap(_.versionId)
            .toSet
        catch { case NotFound() => Set.empty }
      case _ => Set.empty
    }

  /** Deletes files of this store, and no other files. */
  def delete(locations: Seq[String]): Unit = locations.foreach { location =>
    require(
      location.startsWith(root + "/") && isOwn(location.substring(root.length + 1)),
      s"Cannot delete '$location': it is not a file of the index store '$root'.")
    try io.deleteFile(location)
    catch { case NotFound() => () }
  }

  private def isOwn(name: String): Boolean = StoreNames.isOwn(name) && folder.holds(name)

  private def versionName(snapshotId: Long): String = s"${IndexStore.Versions}/$snapshotId"

  private def write(location: String, bytes: Array[Byte]): Unit =
    try Using.resource(io.newOutputFile(location).createOrOverwrite())(_.write(bytes))
    catch { case NonFatal(e) => throw new StoreWriteException(root, e) }

  /**
   * A control file; `None` if it is gone.
   *
   * @param readBytes takes from a stream no more than the file may have
   */
  private def readAll(name: String)(readBytes: InputStream => Array[Byte]): Option[Array[Byte]] = {
    val location = s"$root/$name"
    try {
      folder.check(name)
      // not asked for its length first, which would be a request of its own
      Some(access.requests.timed(root) {
        Using.resource(io.newInputFile(location).newStream())(readBytes(_))
      })
    } catch {
      case NotFound() => None
      // torn by two writers, or cut off while it was read
      case e @ (_: ChecksumException | _: EOFException) => throw new CorruptIndexException(s"'$location': $e")
      case e: OutOfMemoryError =>
        throw new CorruptIndexException(s"'$location': it needs more memory than is available", e)
    }
  }

  /** The file, or a byte more than `most` of it. */
  private def upTo(most: Int)(in: InputStream): Array[Byte] = in.readNBytes(most + 1)

  /** A version says with its first bytes how long it is; nothing more is read of what is none. */
  private def wholeVersion(in: InputStream): Array[Byte] = {
    val header = in.readNBytes(VersionFile.HeaderBytes)
    header ++ upTo(VersionFile.lengthOf(header) - header.length)(in)
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
  private val MaxLatestBytes = 64

  /**
   * Where the index of `table` is kept: beside the table, or under the configured location.
   *
   * @throws IllegalArgumentException if it cannot be kept there
   */
  def of(table: Table, storeLocation: Option[String], access: StoreAccess): IndexStore = {
    storeLocation
      .flatMap(StoreLocation.refusal(table, _))
      .foreach(refusal => throw new IllegalArgumentException(refusal))
    val parent = storeLocation.map(stripSlash).getOrElse(s"${stripSlash(table.location())}/$FolderName")
    new IndexStore(table.io(), s"$parent/${table.uuid()}", access)
  }

  private[store] def withoutScheme(location: String): String =
    location.replaceFirst("^[a-zA-Z][a-zA-Z0-9+.-]*:(//[^/]*)?", "")

  private def stripSlash(location: String): String = location.replaceFirst("/+$", "")
}

/** A file of a store: its name under the root, and what a listing says of it. */
private[zonemap] final case class StoredFile(relativePath: String, sizeBytes: Long, createdAtMillis: Long) {

  /** The snapshot that it is the version of, if it is a version. */
  def versionId: Option[Long] =
    Option
      .when(StoreNames.isVersion(relativePath))(relativePath.stripPrefix(s"${IndexStore.Versions}/"))
      .flatMap(_.toLongOption)
}

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
