// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.io.{EOFException, FileNotFoundException, InputStream, OutputStream}
import java.util.concurrent.ThreadLocalRandom

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.hadoop.fs.ChecksumException
import org.apache.iceberg.Table
import org.apache.iceberg.exceptions.NotFoundException
import org.apache.iceberg.io.{FileIO, SupportsPrefixOperations}

import zonemap.core.fact.{FactFile, FactKind}
import zonemap.core.io.{ByteSource, CorruptIndexException}
import zonemap.core.version.{FactRef, SegmentRef, StoreNames, VersionFile}

/**
 * The files of one table's index, under `<table location>/_zonemaps_v2/<table uuid>/`.
 *
 * Segments are immutable, and no two writers give a segment the same name. Writers therefore need no lock, no
 * compare-and-swap and no listing, and a reader that finds a segment's name in a version finds the complete file.
 * Writers may replace versions and `latest` by equivalent ones; readers treat a torn file as a damaged one. Any file
 * may vanish at any time, because other engines remove files that they do not know: reading a missing file returns
 * `None`. See docs/design/FORMAT.md for the bytes.
 *
 * Thread-safe.
 *
 * @param root the folder of this table's index, without a trailing slash
 * @param access the caches and threads that requests to all stores share
 */
private[zonemap] final class IndexStore(io: FileIO, val root: String, val access: StoreAccess) {
  private val folder = new StoreFolder(root)
  access.use(root, io)

  /**
   * The version recorded for a snapshot, if there is one. A local file that this process writes again is not whole for
   * a moment, so a version that cannot be decoded is read once more when nobody writes.
   *
   * @throws CorruptIndexException if the file exists and cannot be decoded
   */
  def readVersion(snapshotId: Long): Option[VersionFile] = {
    def read() = readAll(versionName(snapshotId))(wholeVersion).map(VersionFile.decode)
    try read()
    catch { case _: CorruptIndexException => access.alone(root)(read()) }
  }

  /** The snapshot id of the version written last, if the hint can be read. The hint may be stale. */
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

  /** The bytes of a segment in a local file; `None` if the store is remote. */
  def local(ref: SegmentRef): Option[ByteSource] = FileIOByteSource.local(s"$root/${ref.relativePath}")

  /**
   * Writes one segment. Its name contains the sequence numbers that it covers, the hash of its content and a random
   * number. The random number keeps the names of two writers of the same segment apart: some storage shows a file
   * before it is complete, and one writer must not reference the incomplete file of the other.
   */
  def writeSegment(level: Level, firstSequence: Long, lastSequence: Long, hash: String, bytes: Array[Byte]): String = {
    val relativePath = s"segments/${level.name}/$firstSequence-$lastSequence-$hash-$newWriter.${level.suffix}"
    write(s"$root/$relativePath", bytes)
    relativePath
  }

  /** Writes one file of facts, under a name that no other writer uses. */
  def writeFacts(kind: FactKind, fieldId: Int, file: FactFile.Encoded): String = {
    val relativePath = s"${IndexStore.Facts}/${kind.name}/$fieldId/${file.contentHash}-$newWriter.zmf"
    writing(s"$root/$relativePath")(out => file.writeTo(bytes => out.write(bytes)))
    relativePath
  }

  private def newWriter: String = f"${ThreadLocalRandom.current().nextInt()}%08x"

  /**
   * The bytes of a file of facts. A plan looks up the facts of many data files at once, so a file of facts is fetched
   * whole up to a larger size than a segment. Of a file of keys it needs the head and a block for each key.
   *
   * @param isWhole whether a small remote file is fetched and retained whole
   */
  def factBytes(ref: FactRef, isWhole: Boolean = true): ByteSource = {
    folder.check(ref.relativePath)
    val most = if (ref.kind == FactKind.Keys) IndexStore.WholeKeysBytes else IndexStore.WholeFactsBytes
    FileIOByteSource.open(io, root, ref.relativePath, ref.sizeBytes, access, Some(if (isWhole) most else 0))
  }

  /** Opens a file of facts; of a file of keys, one read has the whole head. */
  def openFacts(ref: FactRef, bytes: ByteSource): FactFile =
    if (ref.kind == FactKind.Keys) FactFile.open(bytes, FactFile.keysHeadBytes(ref.files, bytes.sizeBytes))
    else FactFile.open(bytes)

  def openFacts(ref: FactRef): FactFile = openFacts(ref, factBytes(ref))

  /** Whether a file exists and contains exactly these bytes. */
  def holds(relativePath: String, bytes: Array[Byte]): Boolean =
    try readAll(relativePath)(upTo(bytes.length)).exists(java.util.Arrays.equals(_, bytes))
    catch { case _: CorruptIndexException => false }

  /**
   * Writes a version, and then the hint that names it. Two versions of one snapshot have one name, and a local file
   * system mixes the bytes of two writers: within a process they write one after the other.
   */
  def writeVersion(version: VersionFile): Unit = access.alone(root) {
    write(s"$root/${versionName(version.snapshotId)}", VersionFile.encode(version))
    write(s"$root/${StoreNames.Latest}", s"${version.snapshotId}\n".getBytes("UTF-8"))
  }

  /**
   * Every file of the store.
   *
   * Lists the files if the `FileIO` can list; otherwise finds them through the versions of the `latest` hint and of the
   * given snapshots.
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

  /**
   * A listed location in the form that this store writes: some listings add or omit the scheme and the authority.
   * `None` for a location outside the store.
   */
  private def underRoot(location: String): Option[String] = {
    val (path, rootPath) = (IndexStore.withoutScheme(location), IndexStore.withoutScheme(root))
    Option.when(path.startsWith(rootPath + "/"))(root + path.substring(rootPath.length))
  }

  /**
   * Every file of the store with its size and age. Files with names of another form, and files reached through symbolic
   * links that leave the folder, do not belong to the store.
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
            "to a FileIO that does, or delete the folder; CALL zonemap.system.build_index then builds the index anew.")
    }

  /**
   * The ones of `wanted` that have a version, whether it can be read or not; empty if the `FileIO` cannot list. The listing
   * ends when all are found or after [[IndexStore.MaxListed]] names.
   */
  def versionsOf(wanted: Set[Long]): Set[Long] =
    io match {
      case listing: SupportsPrefixOperations =>
        try
          listing
            .listPrefix(s"$root/${IndexStore.Versions}/")
            .asScala
            .iterator
            .take(IndexStore.MaxListed)
            .flatMap(info => underRoot(info.location()))
            .map(location => StoredFile(location.substring(root.length + 1), 0L, 0L))
            .flatMap(_.versionId)
            .filter(wanted)
            .take(wanted.size)
            .toSet
        catch { case NotFound() => Set.empty }
      case _ => Set.empty
    }

  /**
   * Why some segments cannot be read: the file of one is missing, or has another size than recorded. `None` if a listing
   * shows nothing wrong, if the `FileIO` cannot list, or if the store has more than [[IndexStore.MaxListed]] segments.
   */
  def damageOf(refs: Seq[SegmentRef]): Option[String] =
    io match {
      case listing: SupportsPrefixOperations =>
        val sizes = listing
          .listPrefix(s"$root/${IndexStore.Segments}/")
          .asScala
          .iterator
          .take(IndexStore.MaxListed + 1)
          .flatMap(info => underRoot(info.location()).map(_.substring(root.length + 1) -> info.size()))
          .toMap
        def problem(ref: SegmentRef) = sizes.get(ref.relativePath) match {
          case Some(size) if size == ref.sizeBytes => None
          case Some(size) => Some(s"segment ${ref.relativePath} has $size of ${ref.sizeBytes} bytes")
          case None       => Some(s"segment ${ref.relativePath} is gone")
        }
        if (sizes.size > IndexStore.MaxListed) None else refs.iterator.flatMap(problem).nextOption()
      case _ => None
    }

  /** Deletes files of this store, and no other files. */
  def delete(locations: Seq[String]): Unit = locations.foreach { location =>
    require(
      location.startsWith(root + "/") && isOwn(location.substring(root.length + 1)),
      s"Cannot delete '$location': it is not a file of the index store '$root'.")
    try io.deleteFile(location)
    catch { case NotFound() => () }
  }

  /** Deletes the folders of a local store that contain nothing. */
  def deleteEmptyFolders(): Unit = folder.deleteEmpty()

  private def isOwn(name: String): Boolean = StoreNames.isOwn(name) && folder.holds(name)

  private def versionName(snapshotId: Long): String = s"${IndexStore.Versions}/$snapshotId"

  private def write(location: String, bytes: Array[Byte]): Unit = writing(location)(_.write(bytes))

  private def writing(location: String)(use: OutputStream => Unit): Unit =
    try Using.resource(io.newOutputFile(location).createOrOverwrite())(use)
    catch { case NonFatal(e) => throw new StoreWriteException(root, e) }

  /**
   * The bytes of a version or of the hint; `None` if the file is missing.
   *
   * @param readBytes reads from a stream at most as many bytes as the file may have
   */
  private def readAll(name: String)(readBytes: InputStream => Array[Byte]): Option[Array[Byte]] = {
    val location = s"$root/$name"
    try {
      folder.check(name)
      // the file's length is not requested first, because that would be another request
      Some(access.requests.timed(root) {
        Using.resource(io.newInputFile(location).newStream())(readBytes(_))
      })
    } catch {
      case NotFound() => None
      // two writers tore the file, or the file became shorter during the read
      case e @ (_: ChecksumException | _: EOFException) => throw new CorruptIndexException(s"'$location': $e")
      case e: OutOfMemoryError =>
        throw new CorruptIndexException(s"'$location': it needs more memory than is available", e)
    }
  }

  /** At most `most` + 1 bytes of the file: the additional byte shows that the file is too long. */
  private def upTo(most: Int)(in: InputStream): Array[Byte] = in.readNBytes(most + 1)

  /** The bytes of a version. Its header records its length, so the rest is read only after the header is verified. */
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
  private val WholeKeysBytes = 4L << 20
  private val MaxLatestBytes = 64

  /** Names of versions that one look at a store lists: two requests for a thousand names, as object stores return them. */
  private[store] val MaxListed = 2000

  /**
   * The store of the index of `table`: a folder beside the table, or under the configured location.
   *
   * @throws IllegalArgumentException if the location must not contain the index of this table
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

/** A file of a store: its path relative to the root, and its size and age from a listing. */
private[zonemap] final case class StoredFile(relativePath: String, sizeBytes: Long, createdAtMillis: Long) {

  /** The snapshot id of the version, if the file is a version. */
  def versionId: Option[Long] =
    Option
      .when(StoreNames.isVersion(relativePath))(relativePath.stripPrefix(s"${IndexStore.Versions}/"))
      .flatMap(_.toLongOption)
}

/** Matches the exceptions with which `FileIO` implementations report a missing file. */
private[zonemap] object NotFound {
  def unapply(error: Throwable): Boolean =
    error match {
      case _: NotFoundException | _: FileNotFoundException | _: java.nio.file.NoSuchFileException => true
      case NonFatal(e) if e.getCause != null && (e.getCause ne e)                                 => unapply(e.getCause)
      case NonFatal(e)                                                                            => isMissingInS3(e)
      case _                                                                                      => false
    }

  /**
   * S3FileIO throws exceptions of the SDK unchanged. zonemap does not link the SDK, so this method compares class
   * names.
   */
  private def isMissingInS3(error: Throwable): Boolean =
    Seq(".NoSuchKeyException", ".NoSuchBucketException").exists(error.getClass.getName.endsWith)
}
