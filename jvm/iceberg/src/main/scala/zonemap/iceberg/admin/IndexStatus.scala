// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.admin

import java.util.UUID

import scala.util.Try

import org.apache.iceberg.{BaseTable, Snapshot, Table}

import zonemap.iceberg.fact.{FactBuild, FactRequest}
import zonemap.iceberg.registry.TableIndex
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.snapshot.TableFacts
import zonemap.iceberg.store.IndexStore
import zonemap.iceberg.trust.BoundsLevels
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * A table that a process knows.
 *
 * @param reload returns the table with its current metadata, by the access of the session that loaded it last; `None` if
 *   the process has retained no access
 */
private[zonemap] final case class KnownTable(name: String, uuid: UUID, reload: Option[() => Table]) {

  /** Whether the session that loaded the table last would still find it. */
  def exists: Boolean = reload.exists(load => Try(load().uuid()).toOption.contains(uuid))
}

/**
 * Shows the state of indexes: a look changes nothing, and counts as no use of a table. One instance serves one call,
 * whose tables share one listing of the cache folder. Thread-safe.
 */
private[zonemap] final class IndexStatus(process: UpkeepProcess, nowMillis: () => Long) {
  private val index = process.index
  private lazy val diskSizes = index.access.cold.diskSizes()

  def this(process: UpkeepProcess) = this(process, () => System.currentTimeMillis())

  /** Every table that this process holds an index of, or has planned, by name. */
  def known: Seq[KnownTable] =
    index.tables.known.map { case (name, table) =>
      val reload = table.lastSeen.map { seen => () =>
        val loaded = new BaseTable(seen.operations, seen.name)
        loaded.refresh()
        loaded
      }
      KnownTable(name, table.uuid, reload)
    }

  /** Discards the index in memory of a table that does not exist any more. */
  def forget(table: KnownTable): Unit = index.tables.forget(table.uuid)

  /** The status of a table, by the name that the table has. */
  def of(table: Table, snapshot: Option[Snapshot], settings: PlannerSettings): StatusResult =
    of(table, table.name(), snapshot, settings)

  /** The status of a table. A store that cannot be read is an error of the result. */
  def of(table: Table, name: String, snapshot: Option[Snapshot], settings: PlannerSettings): StatusResult = {
    val store = index.storeOf(table, settings)
    val known = index.tables.look(table.uuid())
    val (found, bounds) = look(table, snapshot, store, known, settings)
    import found.coverage
    val newest = coverage.newest
    // a process that holds nothing has the choice of columns and the facts from the store
    val read = found.look.opened.orElse(found.look.nearest.filter(_ => known.isEmpty))
    val facts = read.flatMap(_.facts).getOrElse(known.facts)
    StatusResult(
      snapshotId = snapshot.fold(-1L)(_.snapshotId()),
      covered = coverage.isExact,
      lagSnapshots = coverage.lagSnapshots,
      dataFiles = newest.fold(-1L)(_.dataFiles),
      deleteFiles = newest.fold(-1L)(_.deletes.count.toLong),
      segments = newest.fold(-1)(s => s.segments.size + s.deletes.segments.size),
      bytes = newest.fold(-1L)(IndexAdmin.bytes(_, _.isStoredIn(store.root))),
      memoryBytes = known.residentBytes,
      spilledBytes = known.spilledBytes,
      coldMemoryBytes = index.access.cold.memoryBytesOf(store.root),
      coldDiskBytes = diskSizes(store.root),
      store = store.root,
      levels = newest.fold("")(_.levels),
      columns = ColumnChange.describe(table, read.flatMap(_.choice).getOrElse(known.choice)),
      facts = FactBuild.describe(table, facts),
      chosenFacts = chosen(table, facts, known.factNotes),
      problem = IndexProblem.of(found),
      bounds = bounds.fold("")(_.toString),
      evidence = bounds.toSeq.flatMap(_.lines(name, table.schema())).mkString(". "),
      verdict = IndexVerdict.of(found),
      table = name,
      coveredSnapshotId = newest.fold(-1L)(_.key.snapshotId),
      coverage = coverage.counts,
      lagSeconds = coverage.lagMillis.fold(-1.0)(_ / 1000.0)
    )
  }

  /** The notes of this process, and the chosen facts of which it knows no more. */
  private def chosen(table: Table, facts: TableFacts, notes: Seq[(String, String)]): Seq[(String, String)] = {
    val noted = notes.map(_._1).toSet
    notes ++ FactRequest.known(table, facts).filter(r => r.isChosen && !noted(r.text)).map(_.text -> "chosen")
  }

  /**
   * The findings, and the levels of trust of the files.
   *
   * The snapshots in memory are those of the first moment. The store and the work of upkeep are looked at afterwards, so
   * that a snapshot in memory is stored by then, or its write is seen to wait.
   */
  private def look(
      table: Table,
      snapshot: Option[Snapshot],
      store: IndexStore,
      known: TableIndex,
      settings: PlannerSettings): (Findings, Option[BoundsLevels]) = {
    val held = known.covered
    val workBefore = process.upkeep.workOn(known)
    val stored = StoreLook.at(table, snapshot, store, held)
    val coverage = Coverage.of(table, snapshot, known, held, stored, index.access)
    val bounds = StoreLook.attempt(coverage.newest.map(BoundsLevels.of))
    val looked = stored.copy(error = stored.error.orElse(bounds.left.toOption))
    val work = workBefore.and(process.upkeep.workOn(known))
    val found = Findings(snapshot, coverage, known, looked, settings, index.caps, work, nowMillis())
    (found, bounds.toOption.flatten)
  }
}
