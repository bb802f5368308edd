// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.nio.{ByteBuffer, ByteOrder}
import java.util.concurrent.atomic.AtomicLong

import zonemap.core.io.LruBytes
import zonemap.iceberg.settings.ColdSettings

/**
 * A byte range of a file of a store. The bytes of a range never change, because files are immutable and names are never
 * reused.
 *
 * @param root the folder of the table's index
 * @param path the file's path relative to `root`
 */
private[store] final case class ColdRange(root: String, path: String, offset: Long, length: Int)

/**
 * Caches ranges fetched from remote stores, in memory and, if a folder is configured, on local disk. All sessions of a
 * process share the cache. The least recently used ranges are evicted first. Thread-safe; no lock is held during a
 * fetch.
 */
private[zonemap] final class ColdCache(folders: PrivateFolders) {
  private val memory = new LruBytes[ColdRange, ByteBuffer](_.capacity.toLong)
  @volatile private var current = ColdSettings()
  @volatile private var disk = Option.empty[ColdDisk]

  /** Counts the calls of [[forget]]: bytes that were read before such a call must not be cached after it. */
  private val forgets = new AtomicLong

  def settings: ColdSettings = current

  /** Applies new caps and a new folder. */
  def use(settings: ColdSettings): Unit =
    if (settings != current) synchronized {
      if (settings.dir != current.dir || settings.diskMaxBytes != current.diskMaxBytes)
        disk = settings.dir.map(dir => new ColdDisk(folders.under(dir), settings.diskMaxBytes))
      current = settings
      memory.shrinkTo(current.memoryMaxBytes)
    }

  /** The bytes of a range, at position 0: from memory, else from disk, else from `fetch`. */
  private[zonemap] def read(range: ColdRange)(fetch: => ByteBuffer): ByteBuffer =
    find(range).getOrElse {
      val (before, folder) = (forgets.get, disk)
      val fetched = fetch
      folder.foreach(_.write(range, view(fetched)))
      keep(range, fetched, before)
      if (forgets.get != before) folder.foreach(_.forget(range.root))
      view(fetched)
    }

  /** The bytes of a range, at position 0, if they are cached. */
  private[zonemap] def find(range: ColdRange): Option[ByteBuffer] =
    inMemory(range)
      .orElse {
        val before = forgets.get
        val found = disk.flatMap(_.read(range))
        found.foreach(keep(range, _, before))
        found
      }
      .map(view)

  /**
   * Whether a range is cached in memory or on disk. A range on disk can still be damaged: its checksum is only verified
   * when it is read.
   */
  private[zonemap] def has(range: ColdRange): Boolean = inMemory(range).isDefined || disk.exists(_.has(range))

  /**
   * Discards the cached ranges of one table, because one of them is damaged or because the files are deleted. A read
   * that is under way does not cache its bytes either.
   */
  def forget(root: String): Unit = {
    // before the count, so that a read that begins after it finds nothing, and again for reads that began before it
    disk.foreach(_.forget(root))
    synchronized {
      forgets.incrementAndGet()
      memory.removeKeys(_.root == root)
    }
    disk.foreach(_.forget(root))
  }

  /** Discards all ranges in memory. */
  def clear(): Unit = synchronized(memory.clear())

  /** The size of the cached ranges of all tables in memory. */
  def residentBytes: Long = synchronized(memory.bytes)

  /** The size of the cached ranges of one table in memory. */
  def memoryBytesOf(root: String): Long = synchronized(memory.bytesOf(_.root == root))

  /** The size of the cached ranges of one table on disk, including ranges that other JVMs fetched. */
  def diskBytesOf(root: String): Long = diskSizes()(root)

  /** As [[diskBytesOf]] for several tables, for which the folder is listed once. */
  def diskSizes(): String => Long = disk.fold((_: String) => 0L)(_.sizes())

  private def inMemory(range: ColdRange): Option[ByteBuffer] = synchronized(memory.get(range))

  /** @param before the count of forgets when the read of the bytes began */
  private def keep(range: ColdRange, bytes: ByteBuffer, before: Long): Unit = synchronized {
    if (forgets.get == before && range.length <= current.memoryMaxBytes) {
      memory.put(range, bytes)
      memory.shrinkTo(current.memoryMaxBytes)
    }
  }

  private def view(bytes: ByteBuffer): ByteBuffer =
    bytes.duplicate().rewind().asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN)
}
