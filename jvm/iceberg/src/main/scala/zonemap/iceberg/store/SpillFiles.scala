package zonemap.iceberg.store

import java.io.IOException
import java.lang.ref.Cleaner
import java.nio.file.{Files, Path, Paths}
import java.util.concurrent.atomic.AtomicLong

import scala.util.Using
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import zonemap.core.io.ByteSource
import zonemap.iceberg.settings.ColdSettings

/**
 * Segments that no store holds, moved out of the heap: a local file, mapped, whose name is deleted at once.
 *
 * So the page cache is their memory, nobody else can open them, and the disk gets them back when they are no longer
 * referenced or the JVM ends in whatever way. Where a mapped file cannot be deleted it is when the JVM exits. A file is
 * made, written and mapped through one handle, in a folder of this user alone if one is named ([[PrivateFolder]]).
 * Thread-safe.
 *
 * @param settings the cap of what is spilled and the folder, now
 */
private[zonemap] final class SpillFiles(settings: () => ColdSettings, folders: PrivateFolders) {
  import SpillFiles._

  private val spilled = new AtomicLong

  @volatile private var isWarned = false

  /** Bytes on disk now: of files in use, and of unused files that the collector has not freed yet. */
  def totalBytes: Long = spilled.get

  /** The same bytes on disk; `None` if there is no room for them, or no way to write. */
  def of(source: ByteSource): Option[ByteSource] = {
    val now = settings()
    val size = source.sizeBytes
    if (spilled.addAndGet(size) > now.diskMaxBytes) refused(size)
    else
      try {
        val mapped = map(source, now.dir)
        // the cleaner's action must not hold what it waits for
        cleaner.register(mapped, () => spilled.addAndGet(-size): Unit)
        Some(mapped)
      } catch {
        case NonFatal(e) =>
          if (!isWarned) {
            isWarned = true
            log.warn(s"Cannot move segments out of memory to a local file: $e. They stay in memory or are evicted.")
          }
          refused(size)
      }
  }

  private def refused(size: Long): Option[ByteSource] = {
    spilled.addAndGet(-size)
    None
  }

  private def map(source: ByteSource, dir: Option[String]): ByteSource = {
    val file = folder(dir).resolve(s"zonemap-${PrivateFolder.randomName()}.spill")
    try
      Using.resource(PrivateFolder.newFile(file)) { channel =>
        val bytes = source.read(0, Math.toIntExact(source.sizeBytes))
        while (bytes.hasRemaining) channel.write(bytes)
        ByteSource.mapped(channel)
      }
    finally
      try Files.deleteIfExists(file): Unit
      catch { case NonFatal(_) => file.toFile.deleteOnExit() }
  }

  private def folder(dir: Option[String]): Path =
    dir match {
      case Some(parent) =>
        val owned = folders.under(parent)
        if (!owned.create()) throw new IOException(s"'${owned.path}' is not a folder of this user alone")
        owned.path
      case None => Paths.get(System.getProperty("java.io.tmpdir"))
    }
}

private object SpillFiles {
  private val log = LoggerFactory.getLogger("zonemap.store")
  private val cleaner = Cleaner.create()
}
