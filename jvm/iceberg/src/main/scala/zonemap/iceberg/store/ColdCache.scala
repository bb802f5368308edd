package zonemap.iceberg.store

import java.nio.{ByteBuffer, ByteOrder}

import zonemap.core.io.LruBytes
import zonemap.iceberg.settings.ColdSettings

/**
 * A range of a file of a store. Files are immutable and no two have one name, so a range never changes.
 *
 * @param root the folder of the table's index
 * @param path the file's name under it
 */
private[store] final case class ColdRange(root: String, path: String, offset: Long, length: Int)

/**
 * Fetched ranges of stores that are not local, shared by all sessions of a process: in memory, and on local disk if a
 * folder is named. The ranges used least recently leave first. Thread-safe; nothing is fetched under a lock.
 */
private[zonemap] final class ColdCache(folders: PrivateFolders) {
  private val memory = new LruBytes[ColdRange, ByteBuffer](_.capacity.toLong)
  @volatile private var current = ColdSettings()
  @volatile private var disk = Option.empty[ColdDisk]

  def settings: ColdSettings = current

  /** Changes the caps and the folder. */
  def use(settings: ColdSettings): Unit =
    if (settings != current) synchronized {
      if (settings.dir != current.dir || settings.diskMaxBytes != current.diskMaxBytes)
        disk = settings.dir.map(dir => new ColdDisk(folders.under(dir), settings.diskMaxBytes))
      current = settings
      memory.shrinkTo(current.memoryMaxBytes)
    }

  /** The bytes of a range, position 0: from memory, else from disk, else by `fetch`. */
  private[iceberg] def read(range: ColdRange)(fetch: => ByteBuffer): ByteBuffer =
    view(inMemory(range).getOrElse {
      val found = disk.flatMap(_.read(range)).getOrElse {
        val fetched = fetch
        disk.foreach(_.write(range, view(fetched)))
        fetched
      }
      keep(range, found)
      found
    })

  /** The bytes of a range, position 0, if they are here. */
  private[iceberg] def find(range: ColdRange): Option[ByteBuffer] =
    inMemory(range)
      .orElse {
        val found = disk.flatMap(_.read(range))
        found.foreach(keep(range, _))
        found
      }
      .map(view)

  /** Whether a range is here, in memory or, unless it turns out to be damaged, on disk. */
  private[iceberg] def has(range: ColdRange): Boolean = inMemory(range).isDefined || disk.exists(_.has(range))

  /** Forgets the ranges of one table's files: something was wrong with one of them, or they are deleted. */
  def forget(root: String): Unit = {
    synchronized(memory.removeKeys(_.root == root))
    disk.foreach(_.forget(root))
  }

  /** Forgets what is in memory. */
  def clear(): Unit = synchronized(memory.clear())

  /** Bytes in memory of all tables. */
  def residentBytes: Long = synchronized(memory.bytes)

  /** Bytes in memory of one table's files. */
  def memoryBytesOf(root: String): Long = synchronized(memory.bytesOf(_.root == root))

  /** Bytes on disk of one table's files, whoever fetched them. */
  def diskBytesOf(root: String): Long = disk.fold(0L)(_.bytesOf(root))

  private def inMemory(range: ColdRange): Option[ByteBuffer] = synchronized(memory.get(range))

  private def keep(range: ColdRange, bytes: ByteBuffer): Unit = synchronized {
    if (range.length <= current.memoryMaxBytes) {
      memory.put(range, bytes)
      memory.shrinkTo(current.memoryMaxBytes)
    }
  }

  private def view(bytes: ByteBuffer): ByteBuffer =
    bytes.duplicate().rewind().asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN)
}
