package zonemap.iceberg.store

import java.nio.{ByteBuffer, ByteOrder}

import scala.jdk.CollectionConverters._

/**
 * How much of the stores' files is kept near this JVM.
 *
 * @param memoryMaxBytes cap of the fetched ranges in memory
 * @param dir the folder of fetched ranges on local disk, and of what is spilled; `None`: no range is kept on disk, and
 *   what is spilled goes into the JVM's folder for temporary files
 * @param diskMaxBytes cap of the ranges in `dir`, and of what one JVM spills
 */
final case class ColdSettings(
    memoryMaxBytes: Long = 256L << 20,
    dir: Option[String] = None,
    diskMaxBytes: Long = 4L << 30)

/**
 * A range of a file of a store. Files are immutable and no two have one name, so a range never changes.
 *
 * @param root the folder of the table's index
 * @param path the file's name under it
 */
private[store] final case class ColdRange(root: String, path: String, offset: Long, length: Int)

/**
 * What was fetched of stores that are not local, shared by all sessions of this JVM: in memory, and on local disk if a
 * folder is named. The ranges used least recently go. Thread-safe; nothing is fetched under a lock.
 *
 * The settings are those of the query that came last, as with the cap of [[zonemap.iceberg.index.IndexRegistry]].
 */
private[zonemap] object ColdCache {
  private val memory = new java.util.LinkedHashMap[ColdRange, ByteBuffer](16, 0.75f, true)
  private var memoryBytes = 0L
  @volatile private var current = ColdSettings()
  @volatile private var disk = Option.empty[ColdDisk]

  def settings: ColdSettings = current

  /** Takes over the settings of a query. */
  def use(settings: ColdSettings): Unit =
    if (settings != current) synchronized {
      if (settings.dir != current.dir || settings.diskMaxBytes != current.diskMaxBytes)
        disk = settings.dir.map(dir => new ColdDisk(dir, settings.diskMaxBytes))
      current = settings
      shrink()
    }

  /** The bytes of a range, position 0: from memory, else from disk, else by `fetch`. */
  private[store] def read(range: ColdRange)(fetch: => ByteBuffer): ByteBuffer =
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
  private[store] def find(range: ColdRange): Option[ByteBuffer] =
    inMemory(range)
      .orElse {
        val found = disk.flatMap(_.read(range))
        found.foreach(keep(range, _))
        found
      }
      .map(view)

  /** Whether a range is here, in memory or, unless it turns out to be damaged, on disk. */
  private[store] def has(range: ColdRange): Boolean = inMemory(range).isDefined || disk.exists(_.has(range))

  /** Forgets the ranges of one table's files: something was wrong with one of them, or they are deleted. */
  def forget(root: String): Unit = {
    synchronized(memory.entrySet().removeIf { entry =>
      val gone = entry.getKey.root == root
      if (gone) memoryBytes -= entry.getValue.capacity
      gone
    }): Unit
    disk.foreach(_.forget(root))
  }

  /** Forgets what is in memory. */
  def clear(): Unit = synchronized {
    memory.clear()
    memoryBytes = 0
  }

  /** Bytes in memory of all tables. */
  def residentBytes: Long = synchronized(memoryBytes)

  /** Bytes in memory of one table's files. */
  def memoryBytesOf(root: String): Long = synchronized {
    memory.asScala.iterator.collect { case (range, bytes) if range.root == root => bytes.capacity.toLong }.sum
  }

  /** Bytes on disk of one table's files, whoever fetched them. */
  def diskBytesOf(root: String): Long = disk.fold(0L)(_.bytesOf(root))

  private def inMemory(range: ColdRange): Option[ByteBuffer] = synchronized(Option(memory.get(range)))

  private def keep(range: ColdRange, bytes: ByteBuffer): Unit = synchronized {
    if (range.length <= current.memoryMaxBytes) {
      Option(memory.put(range, bytes)).foreach(replaced => memoryBytes -= replaced.capacity)
      memoryBytes += bytes.capacity
      shrink()
    }
  }

  private def shrink(): Unit = {
    val oldestFirst = memory.values().iterator()
    while (memoryBytes > current.memoryMaxBytes && oldestFirst.hasNext) {
      memoryBytes -= oldestFirst.next().capacity
      oldestFirst.remove()
    }
  }

  private def view(bytes: ByteBuffer): ByteBuffer =
    bytes.duplicate().rewind().asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN)
}
