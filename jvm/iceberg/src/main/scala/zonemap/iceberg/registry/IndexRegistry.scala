// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.registry

import java.util.{Collections, UUID}
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.{HasTableOperations, Table}

import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.store.StoreAccess

/**
 * The indexes of one process. All its sessions share them, under one cap in bytes.
 *
 * An empty table that no caller has used for some time is removed, so that a driver that reads ever new tables does not
 * grow. Thread-safe.
 */
private[zonemap] final class IndexRegistry(access: StoreAccess) {
  private val tables = new java.util.LinkedHashMap[UUID, TableIndex](16, 0.75f, true)
  private val LeastTables = 64

  /**
   * The number of tables at which the next sweep runs. A sweep visits all tables, so it waits until they have doubled.
   */
  private var sweepAt = LeastTables

  private val names = new ConcurrentHashMap[String, java.lang.ref.WeakReference[TableIndex]]

  def of(table: Table): TableIndex = of(table.uuid())

  def of(uuid: UUID): TableIndex = synchronized {
    val index = tables.computeIfAbsent(uuid, new TableIndex(_, access))
    index.used()
    if (tables.size >= sweepAt) sweep(System.nanoTime())
    index
  }

  /**
   * The index of a table, for callers that show it: the look does not count as a use of the table. An empty index, which
   * the registry does not retain, if the registry has none.
   */
  def look(uuid: UUID): TableIndex = synchronized {
    // `get` would make the table the most recently used one
    tables.values.asScala.find(_.uuid == uuid).getOrElse(new TableIndex(uuid, access))
  }

  /** The number of tables in the registry, including empty ones. */
  private[registry] def tableCount: Int = synchronized(tables.size)

  private[registry] def nameCount: Int = names.size

  /** Removes the tables that are empty and not in use, and the names of removed tables. */
  private[registry] def sweep(nowNanos: Long): Unit = synchronized {
    tables.values.removeIf(_.isIdle(nowNanos))
    val known = Collections.newSetFromMap(new java.util.IdentityHashMap[TableIndex, java.lang.Boolean])
    known.addAll(tables.values)
    names.values.removeIf(reference => !known.contains(reference.get))
    sweepAt = Math.max(LeastTables, tables.size * 2)
  }

  def residentBytes: Long = all.iterator.map(_.residentBytes).sum

  /**
   * Releases memory until the index uses at most `maxBytes`, starting with the least recently used tables. It releases
   * rows of small tables first, then fact files, then segments older than the hot window, then the other segments, see
   * [[Cooling]]. Snapshots are evicted only when no more segments can be cooled, and references to facts last.
   */
  def shrinkTo(maxBytes: Long, hotWindowMillis: Long = Long.MaxValue): Unit =
    if (residentBytes > maxBytes) {
      val cutoff = if (hotWindowMillis == Long.MaxValue) Long.MinValue else System.currentTimeMillis() - hotWindowMillis
      untilFits(maxBytes) { (table, _) => table.rows.release(); false }
      untilFits(maxBytes) { (table, _) => table.facts.release(); false }
      untilFits(maxBytes) { (table, excess) => table.cool(cutoff, excess); false }
      untilFits(maxBytes) { (table, excess) => table.cool(Long.MaxValue, excess); false }
      untilFits(maxBytes)((table, _) => table.evictOldest())
      untilFits(maxBytes) { (table, _) => table.forgetFacts(); false }
    }

  /**
   * Calls `shrink` with the number of bytes above the cap on one table after another until the cap is met; it calls
   * `shrink` on the same table again as long as the result is `true`.
   */
  private def untilFits(maxBytes: Long)(shrink: (TableIndex, Long) => Boolean): Unit = {
    val oldestFirst = all.iterator
    var held = residentBytes
    while (held > maxBytes && oldestFirst.hasNext) {
      val table = oldestFirst.next()
      var more = true
      while (held > maxBytes && more) {
        more = shrink(table, held - maxBytes)
        held = residentBytes
      }
    }
  }

  /** Records how `table` was loaded, so that its commits, which name the table only, can be indexed. */
  def seen(index: TableIndex, table: Table, settings: PlannerSettings): Unit =
    table match {
      case withOperations: HasTableOperations =>
        val known = index.lastSeen.exists { seen =>
          (seen.operations eq withOperations.operations()) && seen.settings == settings && seen.name == table.name()
        }
        if (!known) {
          index.lastSeen = Some(SeenTable(table.name(), withOperations.operations(), settings))
          index.lastName = Some(table.name())
          names.put(table.name(), new java.lang.ref.WeakReference(index))
          if (names.size >= LeastTables + 2 * tableCount) sweep(System.nanoTime())
        }
      case _ => ()
    }

  /**
   * The table with that name that was loaded last. Tables of different catalogs may have the same name; callers compare
   * uuids afterwards.
   */
  def named(name: String): Option[TableIndex] = Option(names.get(name)).flatMap(reference => Option(reference.get))

  /** The tables that were seen and not forgotten, by the name that was seen last. */
  def known: Seq[(String, TableIndex)] = {
    val held = Collections.newSetFromMap(new java.util.IdentityHashMap[TableIndex, java.lang.Boolean])
    all.foreach(held.add)
    names.asScala.iterator
      .flatMap { case (name, reference) => Option(reference.get).map(name -> _) }
      .filter { case (name, table) => held.contains(table) && table.lastName.contains(name) }
      .toSeq
      .sortBy(_._1)
  }

  def forget(uuid: UUID): Unit = synchronized(Option(tables.remove(uuid)).foreach(_.clear()))

  /** Removes all tables. */
  def clear(): Unit = synchronized {
    tables.clear()
    names.clear()
  }

  private def all: Seq[TableIndex] = synchronized {
    val copy = mutable.ArrayBuffer.empty[TableIndex]
    tables.values.forEach(t => copy += t)
    copy.toSeq
  }
}
