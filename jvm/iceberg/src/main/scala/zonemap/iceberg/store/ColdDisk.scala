// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.io.IOException
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, NoSuchFileException, Path, StandardCopyOption}
import java.nio.file.StandardOpenOption.READ
import java.nio.file.attribute.FileTime
import java.util.zip.CRC32C

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import zonemap.core.io.Checksums

/**
 * Caches fetched ranges as files of a local folder. Several JVMs may share the folder, and files in it may disappear at
 * any time.
 *
 * A file contains the range and a checksum of its name and content. A file gets its final name only when it is
 * complete, and a file that does not match its checksum is a cache miss. Each read sets the file's modification time;
 * above the cap the least recently read files are deleted. Disk failures never reach the caller, and only the first one
 * is logged. Thread-safe.
 *
 * Several JVMs together stay near the cap, because each JVM adds up the bytes that it writes and lists the folder again
 * after every sixteenth of the cap. The cache does not use a folder to which other users have access
 * ([[PrivateFolder]]).
 */
private[store] final class ColdDisk(owned: PrivateFolder, maxBytes: Long) {
  import ColdDisk._

  private val folder: Path = owned.path
  private var usedBytes = 0L
  private var writtenSinceListing = Long.MaxValue
  @volatile private var isWarned = false

  def read(range: ColdRange): Option[ByteBuffer] = if (owned.isUsable) readOwned(range) else None

  private def readOwned(range: ColdRange): Option[ByteBuffer] = {
    val file = folder.resolve(nameOf(range))
    try {
      val content = Using.resource(FileChannel.open(file, READ)) { channel =>
        Option.when(channel.size == range.length + CrcBytes && owned.isOwn(file)) {
          val content = ByteBuffer.allocateDirect(range.length + CrcBytes)
          while (content.hasRemaining && channel.read(content) >= 0) {}
          content.flip()
        }
      }
      val whole = content.filter { bytes =>
        bytes.limit() == range.length + CrcBytes &&
        bytes.getInt(range.length) == crc(file, bytes.slice(0, range.length))
      }
      if (whole.isDefined) Files.setLastModifiedTime(file, FileTime.fromMillis(System.currentTimeMillis()))
      else Files.deleteIfExists(file): Unit
      whole.map(_.slice(0, range.length))
    } catch {
      case _: NoSuchFileException => None
      case NonFatal(e)            => warned("read", e); None
    }
  }

  /** Whether a file for the range exists; the file may be damaged. */
  def has(range: ColdRange): Boolean = owned.isUsable && Files.exists(folder.resolve(nameOf(range)))

  def write(range: ColdRange, bytes: ByteBuffer): Unit =
    if (range.length + CrcBytes <= maxBytes && owned.create())
      try {
        val file = folder.resolve(nameOf(range))
        val temporary = folder.resolve(s"${file.getFileName}.${PrivateFolder.randomName()}$Temporary")
        try {
          Using.resource(PrivateFolder.newFile(temporary)) { channel =>
            val checksum = ByteBuffer.allocate(CrcBytes).putInt(crc(file, bytes)).flip()
            Seq(bytes.duplicate(), checksum).foreach(part => while (part.hasRemaining) channel.write(part))
          }
          makeRoom(range.length + CrcBytes)
          Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE): Unit
        } finally Files.deleteIfExists(temporary): Unit
      } catch { case NonFatal(e) => warned("write", e) }

  /** The bytes of each store's ranges as of now; the folder is listed once for all stores, with the first of them. */
  def sizes(): String => Long = {
    lazy val files = names("").groupBy(_.getFileName.toString.take(PrefixChars))
    root => files.getOrElse(prefixOf(root), Nil).flatMap(attributesOf).map(_.sizeBytes).sum
  }

  def forget(root: String): Unit = listed(prefixOf(root)).foreach(delete)

  /** Adds the size of a new file to the total and deletes the oldest files until the total is below the cap. */
  private def makeRoom(bytes: Long): Unit = synchronized {
    usedBytes += bytes
    writtenSinceListing = if (writtenSinceListing == Long.MaxValue) Long.MaxValue else writtenSinceListing + bytes
    if (usedBytes > maxBytes || writtenSinceListing > maxBytes / ListingsPerCap) {
      // the new file still has its temporary name, so the listing excludes it
      val files = listed("").filterNot(_.isTemporary)
      usedBytes = files.map(_.sizeBytes).sum + bytes
      writtenSinceListing = 0
      val oldestFirst = files.sortBy(_.modifiedMillis).iterator
      while (usedBytes > maxBytes && oldestFirst.hasNext) {
        val oldest = oldestFirst.next()
        delete(oldest)
        usedBytes -= oldest.sizeBytes
      }
      val abandoned = System.currentTimeMillis() - AbandonedMillis
      listed("").filter(f => f.isTemporary && f.modifiedMillis < abandoned).foreach(delete)
    }
  }

  /** The files of the cache whose names start with `prefix`. */
  private def listed(prefix: String): Seq[CachedFile] = names(prefix).flatMap(attributesOf)

  private def names(prefix: String): Seq[Path] =
    if (!owned.isUsable) Nil
    else
      try
        Using.resource(Files.list(folder)) { paths =>
          paths.iterator.asScala
            .filter(path => path.getFileName.toString.startsWith(prefix) && OwnName.matches(path.getFileName.toString))
            .toSeq
        }
      catch {
        case _: NoSuchFileException => Nil
        case NonFatal(e)            => warned("list", e); Nil
      }

  /** The file's size and time; `None` if another JVM deleted the file after it was listed. */
  private def attributesOf(path: Path): Option[CachedFile] =
    try Some(CachedFile(path, Files.size(path), Files.getLastModifiedTime(path).toMillis))
    catch { case _: IOException => None }

  private def delete(file: CachedFile): Unit =
    try Files.deleteIfExists(file.path): Unit
    catch { case NonFatal(e) => warned("delete from", e) }

  private def warned(what: String, error: Throwable): Unit =
    if (!isWarned) {
      isWarned = true
      log.warn(s"Cannot $what the cache folder '$folder': $error. Bytes that are not cached there are fetched again.")
    }
}

private object ColdDisk {
  private val log = LoggerFactory.getLogger("zonemap.store")

  private val Temporary = ".tmp"
  private val CrcBytes = 4
  private val ListingsPerCap = 16
  private val AbandonedMillis = 3600L * 1000
  private val OwnName = s"[0-9a-f]{16}-[0-9a-f]{32}(\\.[0-9a-f]{16}\\$Temporary)?".r

  private final case class CachedFile(path: Path, sizeBytes: Long, modifiedMillis: Long) {
    def isTemporary: Boolean = path.getFileName.toString.endsWith(Temporary)
  }

  private def nameOf(range: ColdRange): String =
    prefixOf(range.root) + Checksums.sha256(s"${range.path}\n${range.offset}\n${range.length}", 16)

  private val PrefixChars = 17

  private def prefixOf(root: String): String = Checksums.sha256(root, 8) + "-"

  private def crc(file: Path, bytes: ByteBuffer): Int = {
    val crc = new CRC32C
    crc.update(file.getFileName.toString.getBytes(UTF_8))
    crc.update(bytes.duplicate())
    crc.getValue.toInt
  }
}
