// SPDX-License-Identifier: Apache-2.0
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
 * Moves segments that no store holds out of the heap, into a memory-mapped local file whose name is deleted at once.
 *
 * The page cache then holds the segment, no other process can open the file, and the disk space is free again when the
 * segment is no longer referenced or the JVM ends, even by a crash. Where a mapped file cannot be deleted, it is
 * deleted when the JVM exits. Each file is created, written and mapped through one handle, in a folder of this user
 * alone if a folder is configured ([[PrivateFolder]]). Thread-safe.
 *
 * @param settings the current cap of spilled bytes and the current folder
 */
private[zonemap] final class SpillFiles(settings: () => ColdSettings, folders: PrivateFolders) {
  import SpillFiles._

  private val spilled = new AtomicLong

  @volatile private var isWarned = false

  /** The bytes of spilled files, including unused files that the garbage collector has not freed yet. */
  def totalBytes: Long = spilled.get

  /** The same bytes in a spilled file; `None` if the cap is reached or the file cannot be written. */
  def of(source: ByteSource): Option[ByteSource] = {
    val now = settings()
    val size = source.sizeBytes
    if (spilled.addAndGet(size) > now.diskMaxBytes) refused(size)
    else
      try {
        val mapped = map(source, now.dir)
        // the cleaner's action must not reference the mapped source, because the cleaner waits until it is unreachable
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
