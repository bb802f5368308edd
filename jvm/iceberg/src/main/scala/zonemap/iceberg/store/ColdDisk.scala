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
 * Fetched ranges as files of a local folder, which several JVMs may share and any may lose.
 *
 * A file is the range and a checksum of its name and content; it appears under its name when it is whole, and whatever
 * is not as expected is a miss. Files are dated when they are read; over the cap the oldest are deleted. Only the first
 * failure of the disk is logged, none is thrown. Thread-safe.
 *
 * A JVM sums up what it writes and looks at the folder again at every sixteenth of the cap, so that several together
 * stay near it. A folder that is not this user's alone is left alone ([[PrivateFolder]]).
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

  /** Whether there is a file for the range; it may still be a damaged one. */
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

  def bytesOf(root: String): Long = listed(prefixOf(root)).map(_.sizeBytes).sum

  def forget(root: String): Unit = listed(prefixOf(root)).foreach(delete)

  /** Counts what is about to appear, and deletes until it fits. */
  private def makeRoom(bytes: Long): Unit = synchronized {
    usedBytes += bytes
    writtenSinceListing = if (writtenSinceListing == Long.MaxValue) Long.MaxValue else writtenSinceListing + bytes
    if (usedBytes > maxBytes || writtenSinceListing > maxBytes / ListingsPerCap) {
      // the new file still has its temporary name
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

  /** The files of ours whose name starts with `prefix`. */
  private def listed(prefix: String): Seq[CachedFile] =
    if (!owned.isUsable) Nil
    else
      try
        Using.resource(Files.list(folder)) { paths =>
          paths.iterator.asScala
            .filter(path => path.getFileName.toString.startsWith(prefix) && OwnName.matches(path.getFileName.toString))
            .flatMap(attributesOf)
            .toSeq
        }
      catch {
        case _: NoSuchFileException => Nil
        case NonFatal(e)            => warned("list", e); Nil
      }

  /** None for a file that another JVM deleted meanwhile. */
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

  private def prefixOf(root: String): String = Checksums.sha256(root, 8) + "-"

  private def crc(file: Path, bytes: ByteBuffer): Int = {
    val crc = new CRC32C
    crc.update(file.getFileName.toString.getBytes(UTF_8))
    crc.update(bytes.duplicate())
    crc.getValue.toInt
  }
}
