package zonemap.iceberg.registry

import org.apache.iceberg.Table

import zonemap.core.column.ColumnChoice
import zonemap.core.io.{CorruptIndexException, Recent}
import zonemap.core.version.FactRef
import zonemap.iceberg.build.SnapshotWriter
import zonemap.iceberg.report.PlanLog
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.snapshot.{SnapshotIndex, TableFacts}
import zonemap.iceberg.store.{IndexStore, StoreAccess, StoreWriteException}

/**
 * Owns what planning keeps between queries: the indexes of tables, the caches and threads for their stores, the caps of
 * both, and the counts of plans. A driver has one; two of them share nothing but the files of stores. Thread-safe.
 */
private[zonemap] final class IndexProcess {
  val access = new StoreAccess
  val tables = new IndexRegistry(access)
  val planLog = new PlanLog

  /** Problems of stores that were logged, each once. */
  val warnings = new Recent[String](256)

  private val owner = new CapsOwner(caps => access.cold.use(caps.cold))

  /** The caps that hold for all sessions. */
  def caps: Caps = owner.caps

  /**
   * Takes the caps out of the settings of a session that is about to plan or to build, if the session may set them. The
   * cap of the index is kept by whoever adds to it, see [[shrink]].
   */
  def use(settings: PlannerSettings, session: CapsSession = CapsSession.Nobody): Unit =
    owner.use(Caps.of(settings), session)

  /** Lets go of memory until the cap of the index is kept. */
  def shrink(): Unit = {
    val now = caps
    tables.shrinkTo(now.hotMaxBytes, now.hotWindowMillis)
  }

  /** The store of a table's index. */
  def storeOf(table: Table, settings: PlannerSettings): IndexStore =
    IndexStore.of(table, settings.storeLocation, access)

  /** The facts that this process knows of a table, as far as they are of the values that readers return now. */
  def factsOf(table: Table): TableFacts = tables.of(table).facts.readable(table)

  /** Holds a snapshot where the cap has room for it; what had to give way is let go of. */
  def keep(index: TableIndex, snapshot: SnapshotIndex): SnapshotIndex = {
    val needed = Oversized(snapshot.key, snapshot.residentBytes, snapshot.deletes.residentBytes)
    // delete files do not cool: holding them would cost every other table its index first
    if (!needed.isForGood(caps.hotMaxBytes)) index.put(snapshot)
    shrink()
    index.oversized = Option.when(index.get(snapshot.key).isEmpty)(needed)
    snapshot
  }

  /**
   * Writes a snapshot to its store and holds it from then on.
   *
   * @param facts the facts that the version is to name; `None`: those that are there
   * @param choice the columns that are to be indexed; `None`: those that are
   */
  def save(
      table: Table,
      snapshot: SnapshotIndex,
      store: IndexStore,
      settings: PlannerSettings,
      facts: Option[Seq[FactRef]] = None,
      choice: Option[ColumnChoice] = None): SnapshotIndex =
    try remember(table, SnapshotWriter.save(table, snapshot, store, held(table), facts, choice), settings)
    catch {
      case e: StoreWriteException =>
        tables.of(table).storeState.refused(e.getMessage)
        throw e
    }

  /** Holds a stored snapshot from now on. */
  def remember(table: Table, stored: SnapshotIndex, settings: PlannerSettings): SnapshotIndex = {
    val index = tables.of(table)
    tables.seen(index, table, settings)
    index.storeState.written()
    keep(index, stored)
  }

  /** The facts and columns of a table that the next version names where no version can be read. */
  def held(table: Table): (Seq[FactRef], ColumnChoice) = {
    val known = tables.of(table)
    (known.facts.refs, known.choice)
  }

  /** What is known of a table in a build that starts from its store: nothing, but for the columns to index. */
  def newTable(table: Table, snapshotId: Long, store: IndexStore): TableIndex = {
    val known = new TableIndex(table.uuid(), access)
    followChoice(table, snapshotId, store, known)
    known
  }

  /** Has `known` follow the choice of columns of the version that was written last. */
  def followChoice(table: Table, snapshotId: Long, store: IndexStore, known: TableIndex): Unit =
    try
      SnapshotWriter
        .newestVersion(table, snapshotId, store)
        .foreach(version => known.choose(Long.MaxValue, version.columns))
    catch { case _: CorruptIndexException => () }

  /** Forgets all tables and what is in memory of the cold cache: as after a start of the process. */
  def clear(): Unit = {
    tables.clear()
    access.cold.clear()
  }
}
