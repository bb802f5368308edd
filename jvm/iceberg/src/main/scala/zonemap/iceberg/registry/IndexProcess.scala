// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.registry

import org.apache.iceberg.Table

import zonemap.core.column.ColumnChoice
import zonemap.core.io.{CorruptIndexException, RecentlySeen}
import zonemap.core.version.FactRef
import zonemap.iceberg.build.SnapshotWriter
import zonemap.iceberg.report.PlanLog
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.snapshot.{SnapshotIndex, TableFacts}
import zonemap.iceberg.store.{IndexStore, StoreAccess, StoreWriteException}

/**
 * Owns the state that planning retains between queries: the indexes of tables, the caches and threads for their stores,
 * the caps of both, and the counts of plans. A driver has one instance; two instances share only the files of stores.
 * Thread-safe.
 */
private[zonemap] final class IndexProcess {
  val access = new StoreAccess
  val tables = new IndexRegistry(access)
  val planLog = new PlanLog

  /** The problems of stores that were logged, so that each is logged once. */
  val warnings = new RecentlySeen[String](256)

  private val owner = new CapsOwner(caps => access.cold.use(caps.cold))

  /** The caps in effect for all sessions. */
  def caps: MemoryCaps = owner.caps

  /**
   * Applies the caps in the settings of a session that is about to plan or to build, if the session may set them. The
   * index does not shrink here: callers that add to it or change the caps call [[shrink]].
   */
  def use(settings: PlannerSettings, session: CapsSession = CapsSession.Nobody): Unit =
    owner.use(MemoryCaps.of(settings), session)

  /** Releases memory until the index is within its cap. */
  def shrink(): Unit = {
    val now = caps
    tables.shrinkTo(now.hotMaxBytes, now.hotWindowMillis)
  }

  /** The store of a table's index. */
  def storeOf(table: Table, settings: PlannerSettings): IndexStore =
    IndexStore.of(table, settings.storeLocation, access)

  /**
   * The facts that this process has loaded for a table, restricted to facts about the values that readers return now.
   */
  def factsOf(table: Table): TableFacts = tables.of(table).facts.readable(table)

  /** Retains a snapshot if it fits under the cap, and releases the memory that has to make room for it. */
  def keep(index: TableIndex, snapshot: SnapshotIndex): SnapshotIndex = {
    val needed = Oversized(snapshot.key, snapshot.residentBytes, snapshot.deletes.residentBytes)
    index.isExpected = false
    // delete files cannot be cooled, so retaining them would first evict the indexes of all other tables
    if (!needed.isForGood(caps.hotMaxBytes)) index.put(snapshot)
    shrink()
    index.oversized = Option.when(index.get(snapshot.key).isEmpty)(needed)
    snapshot
  }

  /**
   * Writes a snapshot to its store and retains it in memory.
   *
   * @param facts the facts that the version names; `None`: the facts that the newest version names
   * @param choice the columns to index; `None`: the columns that the newest version names
   */
  def save(
      table: Table,
      snapshot: SnapshotIndex,
      store: IndexStore,
      settings: PlannerSettings,
      facts: Seq[FactRef] => Seq[FactRef] = identity,
      choice: Option[ColumnChoice] = None): SnapshotIndex =
    try remember(table, SnapshotWriter.save(table, snapshot, store, held(table), facts, choice), settings)
    catch {
      case e: StoreWriteException =>
        tables.of(table).storeState.refused(e.getMessage)
        throw e
    }

  /** Retains a stored snapshot in memory. */
  def remember(table: Table, stored: SnapshotIndex, settings: PlannerSettings): SnapshotIndex = {
    val index = tables.of(table)
    tables.seen(index, table, settings)
    index.storeState.written()
    keep(index, stored)
  }

  /** Records a table without a snapshot, so that its first commit is indexed like later ones. */
  def expect(table: Table, settings: PlannerSettings): Unit = {
    val index = tables.of(table)
    index.isExpected = true
    tables.seen(index, table, settings)
  }

  /** The facts and columns of a table in memory, which the next version names if no existing version can be read. */
  def held(table: Table): (Seq[FactRef], ColumnChoice) = {
    val known = tables.of(table)
    (known.facts.refs, known.choice)
  }

  /**
   * An empty index for a build that reads all manifests again: it contains only the columns to index, from the store.
   */
  def newTable(table: Table, snapshotId: Long, store: IndexStore): TableIndex = {
    val known = new TableIndex(table.uuid(), access)
    followChoice(table, snapshotId, store, known)
    known
  }

  /** Sets the columns to index in `known` from the version that was written last. */
  def followChoice(table: Table, snapshotId: Long, store: IndexStore, known: TableIndex): Unit =
    try
      SnapshotWriter
        .newestVersion(table, snapshotId, store)
        .foreach(version => known.choose(Long.MaxValue, version.columns))
    catch { case _: CorruptIndexException => () }

  /** Discards all tables and the ranges in memory, as after a start of the process. */
  def clear(): Unit = {
    tables.clear()
    access.cold.clear()
  }
}
