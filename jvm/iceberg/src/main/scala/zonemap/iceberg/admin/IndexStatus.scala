package zonemap.iceberg.admin

import org.apache.iceberg.{BaseTable, Snapshot, Table}

import zonemap.iceberg.fact.FactBuild
import zonemap.iceberg.prune.BoundsLevels
import zonemap.iceberg.registry.TableIndex
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.store.IndexStore
import zonemap.iceberg.upkeep.UpkeepProcess

/** A table that a process knows; `load` returns it with its current metadata if the process has seen it loaded. */
private[zonemap] final case class KnownTable(name: String, load: Option[() => Table])

/** Shows the state of indexes and changes nothing. Thread-safe: no state. */
private[zonemap] final class IndexStatus(process: UpkeepProcess, nowMillis: () => Long) {
  private val index = process.index

  def this(process: UpkeepProcess) = this(process, () => System.currentTimeMillis())

  /** Every table that this process holds an index of, or has planned, by name. */
  def known: Seq[KnownTable] =
    index.tables.known.map { case (name, table) =>
      val load = table.lastSeen.map { seen => () =>
        val loaded = new BaseTable(seen.operations, seen.name)
        loaded.refresh()
        loaded
      }
      KnownTable(name, load)
    }

  /** The status of a table, by the name that the table has. */
  def of(table: Table, snapshot: Option[Snapshot], settings: PlannerSettings): StatusResult =
    of(table, table.name(), snapshot, settings)

  /** The status of a table. A store that cannot be read is an error of the result. */
  def of(table: Table, name: String, snapshot: Option[Snapshot], settings: PlannerSettings): StatusResult = {
    val store = index.storeOf(table, settings)
    val known = index.tables.of(table)
    val (found, bounds) = settled(table, snapshot, store, known, settings)
    import found.{coverage, look}
    val newest = coverage.newest
    // a process that holds nothing has the choice of columns and the facts from the store
    val read = look.opened.orElse(look.nearest.filter(_ => known.isEmpty))
    StatusResult(
      snapshotId = snapshot.fold(-1L)(_.snapshotId()),
      covered = coverage.isExact,
      lagSnapshots = coverage.lagSnapshots,
      dataFiles = newest.fold(-1L)(_.dataFiles),
      deleteFiles = newest.fold(-1L)(_.deletes.count.toLong),
      segments = newest.fold(-1)(s => s.segments.size + s.deletes.segments.size),
      bytes = newest.fold(-1L)(IndexAdmin.bytes),
      memoryBytes = known.residentBytes,
      spilledBytes = known.spilledBytes,
      coldMemoryBytes = index.access.cold.memoryBytesOf(store.root),
      coldDiskBytes = index.access.cold.diskBytesOf(store.root),
      store = store.root,
      levels = newest.fold("")(_.levels),
      columns = ColumnChange.describe(table, read.flatMap(_.choice).getOrElse(known.choice)),
      facts = FactBuild.describe(table, read.flatMap(_.facts).getOrElse(known.facts)),
      problem = IndexProblem.of(found),
      bounds = bounds,
      verdict = Verdict.of(found),
      table = name,
      coveredSnapshotId = newest.fold(-1L)(_.key.snapshotId),
      coverage = coverage.counts,
      lagSeconds = coverage.lagMillis.fold(-1.0)(_ / 1000.0)
    )
  }

  /**
   * The findings of one look, or of a second one if upkeep may have covered the snapshot during the first: its write was
   * not queued yet when the work was read, and is queued or done before the second look.
   */
  private def settled(
      table: Table,
      snapshot: Option[Snapshot],
      store: IndexStore,
      known: TableIndex,
      settings: PlannerSettings): (Findings, String) = {
    val (found, bounds) = lookOnce(table, snapshot, store, known, settings)
    val isOvertaken = found.coverage.isExact && !found.look.isStored && !found.work.isWriting
    if (isOvertaken) lookOnce(table, snapshot, store, known, settings) else (found, bounds)
  }

  /** The findings, and the text of `bounds`. */
  private def lookOnce(
      table: Table,
      snapshot: Option[Snapshot],
      store: IndexStore,
      known: TableIndex,
      settings: PlannerSettings): (Findings, String) = {
    val work = process.upkeep.workOn(known)
    val stored = StoreLook.at(table, snapshot, store, known)
    val coverage = Coverage.of(table, snapshot, known, stored, index.access)
    val bounds = StoreLook.attempt(coverage.newest.map(BoundsLevels.of(table, _).toString))
    val look = stored.copy(error = stored.error.orElse(bounds.left.toOption))
    val found = Findings(snapshot, coverage, known, look, settings, index.caps, work, nowMillis())
    (found, bounds.toOption.flatten.getOrElse(""))
  }
}
