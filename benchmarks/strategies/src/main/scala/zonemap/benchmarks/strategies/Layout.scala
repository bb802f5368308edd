package zonemap.benchmarks.strategies

import org.apache.iceberg.Table

import zonemap.core.io.ByteSource
import zonemap.core.segment.{Segment, SegmentMerger}
import zonemap.iceberg.admin.IndexAdmin
import zonemap.iceberg.build.{LocalRunner, Merging, SegmentCompactor, SnapshotIndexer, SnapshotWriter}
import zonemap.iceberg.registry.TableIndex
import zonemap.iceberg.settings.{MaintenanceSettings, MergePolicy, PlannerSettings, UpkeepMode}
import zonemap.iceberg.snapshot.{LiveSegment, SegmentOrigin, SnapshotIndex, StoredSnapshots}
import zonemap.iceberg.store.{IndexStore, Level}
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * One way to keep an index beside a stream.
 *
 * @param confs of the session that writes and queries
 * @param reported what was reported from practice of this strategy: loss of write throughput, query seconds
 */
sealed abstract class Layout(val name: String, val reported: String) {
  def confs: Map[String, String]

  /** Indexes the past. */
  def prepare(table: Table): Unit

  /** What the writer does after a commit, before its next batch. */
  def afterCommit(table: Table): Unit

  /** Whether what queries need is in the memory of the driver that asks; else each opens the store anew. */
  def hasHotTier: Boolean
}

object Layout {
  private val NeverMerged = MergePolicy.Off(hardCap = Int.MaxValue)
  private val ByProcedure = Map("spark.sql.zonemap.enabled" -> "true", "spark.sql.zonemap.upkeep" -> "off")
  private val Following = Map("spark.sql.zonemap.enabled" -> "true", "spark.sql.zonemap.upkeep" -> "persist")

  /** The cap that makes the past of a large table cold, and a day of batches hot. */
  private val HotBytes = "24m"

  case object NoIndex extends Layout("no index", "queries ~23 s") {
    override val confs: Map[String, String] = Map("spark.sql.zonemap.enabled" -> "false")
    override def prepare(table: Table): Unit = ()
    override def afterCommit(table: Table): Unit = ()
    override val hasHotTier = false
  }

  /** One segment of all files, read and written whole with every batch. */
  case object Master extends Layout("master zonemap", "-67 %, queries 2.1 s") {
    override val confs: Map[String, String] = ByProcedure
    override def prepare(table: Table): Unit = { build(table); save(table, inOne(stored(table))) }
    override def afterCommit(table: Table): Unit = save(table, inOne(extended(table)))
    override val hasHotTier = false
  }

  /** Micro segments, merged into hours and days as soon as there are eight, by the writer. */
  case object Hierarchical extends Layout("hierarchical", "-4 %, queries 3.2 s") {
    override val confs: Map[String, String] = ByProcedure
    override def prepare(table: Table): Unit = build(table)
    override def afterCommit(table: Table): Unit = {
      val extended = Layout.extended(table)
      save(table, Merging.ifDue(table, extended, new TableIndex(table.uuid(), process.access), MergePolicy.Deterministic(), new SegmentCompactor(process.access.spill)))
    }
    override val hasHotTier = false
  }

  /** Runs that the writer merges into one segment of all files when the draw says so. */
  case object Probabilistic extends Layout("probabilistic merge", "") {
    override val confs: Map[String, String] = ByProcedure
    override def prepare(table: Table): Unit = { build(table); save(table, inOne(stored(table))) }
    override def afterCommit(table: Table): Unit = {
      val extended = Layout.extended(table)
      save(table, if (Merging.isDue(table, extended, MergePolicy.Probabilistic())) inOne(extended) else extended)
    }
    override val hasHotTier = false
  }

  /** What is new stays in the writer's memory, too; nothing is merged. */
  case object Dual extends Layout("dual tier", "-5 %, queries 1.2 s hot, 2.8 s cold") {
    override val confs: Map[String, String] = ByProcedure + ("spark.sql.zonemap.hot.max-bytes" -> HotBytes)
    private val settings = PlannerSettings(
      upkeep = UpkeepMode.Off,
      hotMaxBytes = 24L << 20,
      maintenance = MaintenanceSettings(merge = NeverMerged))
    override def prepare(table: Table): Unit = build(table)
    override def afterCommit(table: Table): Unit =
      new IndexAdmin(process).refresh(table, table.currentSnapshot(), settings, new LocalRunner(_)): Unit
    override val hasHotTier = true
  }

  /** The index follows commits by itself, and writes its own store; nothing is merged. */
  case object Decoupled extends Layout("decoupled store", "-2 %") {
    override val confs: Map[String, String] =
      Following ++ Map("spark.sql.zonemap.merge.policy" -> "off", "spark.sql.zonemap.merge.hard-cap" -> "1000000")
    override def prepare(table: Table): Unit = build(table)
    override def afterCommit(table: Table): Unit = ()
    override val hasHotTier = false
  }

  /** The defaults. */
  case object Combined extends Layout("all combined", "") {
    override val confs: Map[String, String] = Following + ("spark.sql.zonemap.hot.max-bytes" -> HotBytes)
    override def prepare(table: Table): Unit = build(table)
    override def afterCommit(table: Table): Unit = ()
    override val hasHotTier = true
  }

  val indexed: Seq[Layout] = Seq(Master, Hierarchical, Probabilistic, Dual, Decoupled, Combined)

  /** Confs that some layout sets. */
  val confKeys: Set[String] = (NoIndex +: indexed).flatMap(_.confs.keys).toSet

  private def build(table: Table): Unit =
    new IndexAdmin(process).build(
      table,
      table.currentSnapshot(),
      PlannerSettings(upkeep = UpkeepMode.Off, maintenance = MaintenanceSettings(merge = NeverMerged)),
      new LocalRunner(_)): Unit

  private def process = UpkeepProcess.ofJvm.index

  private def store(table: Table): IndexStore = IndexStore.of(table, None, process.access)

  private def stored(table: Table): SnapshotIndex =
    StoredSnapshots.load(table, table.currentSnapshot(), store(table)).get

  private def save(table: Table, index: SnapshotIndex): Unit = 
    SnapshotWriter.save(table, index, store(table), process.held(table)): Unit

  /** The stored index of the parent, with what the current snapshot has added. */
  private def extended(table: Table): SnapshotIndex = {
    val snapshot = table.currentSnapshot()
    val known = new TableIndex(table.uuid(), process.access)
    StoredSnapshots.load(table, table.snapshot(snapshot.parentId()), store(table)).foreach(known.put)
    val diff = SnapshotIndexer.diff(table, snapshot, known)
    SnapshotIndexer.inStore(table, snapshot, diff, store(table), new LocalRunner(table))
  }

  private def inOne(index: SnapshotIndex): SnapshotIndex = {
    val source = ByteSource.ofBytes(SegmentMerger.merge(index.segments.map(s => (s.segment, s.liveManifests.toSeq))))
    val segment = Segment.open(source)
    val origin = SegmentOrigin.inMemory(source, Level.Day, None)
    index.withSegments(IndexedSeq(new LiveSegment(segment, origin, segment.manifests.indices.toArray)))
  }
}
