package zonemap.iceberg.store

import java.io.FileNotFoundException

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.iceberg.Table
import org.apache.iceberg.exceptions.NotFoundException
import org.apache.iceberg.io.{FileIO, IOUtil, SupportsPrefixOperations}

import zonemap.core.segment.{ByteSource, CorruptSegmentException, SegmentRef, VersionFile}

/**
 * The files of one table's index, under `<table location>/_zonemaps_v2/<table uuid>/`.
 *
 * Every file but `latest` is immutable and has a unique name, so writing needs no lock, no compare-and-swap and no
 * listing, and reading is by exact name. Anything may vanish at any time (other engines remove files they do not
 * know): a missing file answers `None`. See docs/design/FORMAT.md for the bytes.
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
    readAll(latestLocation).flatMap(bytes => new String(bytes, "UTF-8").trim.toLongOption)

  def openSegment(ref: SegmentRef): ByteSource =
    FileIOByteSource.open(io, s"$root/${ref.relativePath}", ref.sizeBytes)

  /** Writes one segment; the name says the sequence numbers it covers and the hash of its content. */
  def writeSegment(level: Level, firstSequence: Long, lastSequence: Long, hash: String, bytes: Array[Byte]): String = {
    val relativePath = s"segments/${level.name}/$firstSequence-$lastSequence-$hash.${level.suffix}"
    write(s"$root/$relativePath", bytes)
    relativePath
  }

  /** Writes a version and, after it, the hint that names it. */
  def writeVersion(version: VersionFile): Long = {
    val bytes = VersionFile.encode(version)
    write(versionLocation(version.snapshotId), bytes)
    write(latestLocation, s"${version.snapshotId}\n".getBytes("UTF-8"))
    bytes.length.toLong
  }

  /**
   * Every file of the store.
   *
   * Lists when the `FileIO` can; else follows the `latest` hint and the given snapshots.
   */
  def files(snapshotIds: Seq[Long]): Seq[String] =
    io match {
      case listing: SupportsPrefixOperations =>
        try listing.listPrefix(root + "/").asScala.flatMap(file => underRoot(file.location())).toSeq.sorted
        catch { case NotFound() => Nil }
      case _ =>
        val versions = (readLatest().toSeq ++ snapshotIds).distinct.flatMap { id =>
          try readVersion(id)
          catch { case _: CorruptSegmentException => None }
        }
        val segments = versions.flatMap(v => v.segments ++ v.deleteSegments).map(_.relativePath).distinct
        val named = versions.map(v => versionLocation(v.snapshotId)) ++ segments.map(p => s"$root/$p")
        if (named.isEmpty) Nil else named :+ latestLocation
    }

  /** A listed location as this store writes it: some listings add or drop the scheme and the authority. */
  private def underRoot(location: String): Option[String] = {
    val (path, rootPath) = (IndexStore.withoutScheme(location), IndexStore.withoutScheme(root))
    Option.when(path.startsWith(rootPath + "/"))(root + path.substring(rootPath.length))
  }

  /** Deletes files of this store. */
  def delete(locations: Seq[String]): Unit = locations.foreach { location =>
    require(location.startsWith(root + "/"), s"Cannot delete '$location': it is not in the index store '$root'.")
    try io.deleteFile(location)
    catch { case NotFound() => () }
  }

  private def versionLocation(snapshotId: Long): String = s"$root/versions/$snapshotId"
  private def latestLocation: String = s"$root/latest"

  private def write(location: String, bytes: Array[Byte]): Unit =
    try Using.resource(io.newOutputFile(location).createOrOverwrite())(_.write(bytes))
    catch { case NonFatal(e) => throw new StoreWriteException(root, e) }

  private def readAll(location: String): Option[Array[Byte]] =
    try {
      val file = io.newInputFile(location)
      val length = file.getLength
      if (length > IndexStore.MaxControlFileBytes)
        throw new CorruptSegmentException(s"'$location' has $length bytes, more than any version file")
      val bytes = new Array[Byte](length.toInt)
      Using.resource(file.newStream())(IOUtil.readFully(_, bytes, 0, bytes.length))
      Some(bytes)
    } catch { case NotFound() => None }
}

/** The index store of a table cannot be written. */
private[zonemap] final class StoreWriteException(root: String, cause: Throwable)
    extends RuntimeException(
      s"Cannot write the index store '$root': $cause. Grant write access to it, or name another folder by " +
        "spark.sql.zonemap.store.location.",
      cause)

/** The level of the hierarchy a segment belongs to; it is part of the segment's name. */
private[zonemap] sealed abstract class Level(val name: String, val suffix: String)

private[zonemap] object Level {
  case object Micro extends Level("micro", "zm")
  case object Day extends Level("day", "zm")
  case object Deletes extends Level("deletes", "zmd")
}

private[zonemap] object IndexStore {
  val FolderName = "_zonemaps_v2"
  private val MaxControlFileBytes = 256L << 20

  /** Where the index of `table` is kept: beside the table, or under the configured location. */
  def of(table: Table, storeLocation: Option[String]): IndexStore = {
    val parent = storeLocation.map(stripSlash).getOrElse(s"${stripSlash(table.location())}/$FolderName")
    new IndexStore(table.io(), s"$parent/${table.uuid()}")
  }

  private def withoutScheme(location: String): String = location.replaceFirst("^[a-zA-Z][a-zA-Z0-9+.-]*:(//[^/]*)?", "")

  private def stripSlash(location: String): String = location.replaceFirst("/+$", "")
}

/** Matches the ways a `FileIO` says that a file is not there. */
private[zonemap] object NotFound {
  def unapply(error: Throwable): Boolean =
    error match {
      case _: NotFoundException | _: FileNotFoundException | _: java.nio.file.NoSuchFileException => true
      case NonFatal(e) if e.getCause != null && (e.getCause ne e) => unapply(e.getCause)
      case NonFatal(e) => isMissingKey(e)
      case _ => false
    }

  /** S3FileIO's `getLength` passes on the SDK's own exception, a class we do not link. */
  private def isMissingKey(error: Throwable): Boolean =
    error.getClass.getName.endsWith(".NoSuchKeyException")
}
