// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.strategies

import org.apache.iceberg.Table
import org.apache.spark.sql.SparkSession

import zonemap.core.io.ByteSource
import zonemap.core.segment.{Segment, SegmentMerger}
import zonemap.iceberg.admin.IndexAdmin
import zonemap.iceberg.build.{LocalRunner, Merging, SegmentCompactor, SnapshotIndexer, SnapshotWriter}
import zonemap.iceberg.registry.TableIndex
import zonemap.iceberg.settings.{UpkeepSettings, MergePolicy, PlannerSettings, UpkeepMode}
import zonemap.iceberg.snapshot.{LiveSegment, SegmentOrigin, SnapshotIndex, StoredSnapshots}
import zonemap.iceberg.store.{IndexStore, Level}
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * One way to maintain an index while a stream writes the table.
 *
 * @param confs confs of the session that writes and queries
 * @param reported figures from practice for this strategy: loss of write throughput, seconds of a query
 */
sealed abstract class Layout(val name: String, val reported: String) {
  def confs: Map[String, String]

  /** Indexes the files of the past. */
  def prepare(table: Table): Unit

  /** The writer's index work after a commit, before its next batch. */
  def afterCommit(table: Table): Unit

  /** Whether the driver retains the index in memory between queries; otherwise each query opens the store anew. */
  def hasHotTier: Boolean

  /** Gives a session the confs of this layout, and those alone of all that layouts have. */
  def set(spark: SparkSession): Unit = {
    Layout.confKeys.foreach(spark.conf.unset)
    confs.foreach { case (key, value) => spark.conf.set(key, value) }
  }
}

object Layout {
  private val NeverMerged = MergePolicy.Off(hardCap = Int.MaxValue)
  private val ByProcedure = Map("spark.sql.zonemap.enabled" -> "true", "spark.sql.zonemap.upkeep.mode" -> "off")
  private val Following = Map("spark.sql.zonemap.enabled" -> "true", "spark.sql.zonemap.upkeep.mode" -> "persist")

  /** A memory cap that retains a day of batches, but not the past of a large table. */
  private val HotBytes = "24m"

  case object NoIndex extends Layout("no index", "queries ~23 s") {
    override val confs: Map[String, String] = Map("spark.sql.zonemap.enabled" -> "false")
    override def prepare(table: Table): Unit = ()
    override def afterCommit(table: Table): Unit = ()
    override val hasHotTier = false
  }

  /** One segment of all files, which each batch reads and rewrites whole. */
  case object Master extends Layout("master zonemap", "-67 %, queries 2.1 s") {
    override val confs: Map[String, String] = ByProcedure
    override def prepare(table: Table): Unit = { build(table); save(table, inOne(stored(table))) }
    override def afterCommit(table: Table): Unit = save(table, inOne(extended(table)))
    override val hasHotTier = false
  }

  /** The writer adds micro segments, and merges them into segments of hours and days as soon as there are eight. */
  case object Hierarchical extends Layout("hierarchical", "-4 %, queries 3.2 s") {
    override val confs: Map[String, String] = ByProcedure
    override def prepare(table: Table): Unit = build(table)
    override def afterCommit(table: Table): Unit = {
      val extended = Layout.extended(table)
      save(
        table,
        Merging.ifDue(
          table,
          extended,
          new TableIndex(table.uuid(), process.access),
          MergePolicy.Deterministic(),
          new SegmentCompactor(process.access.spill))
      )
    }
    override val hasHotTier = false
  }

  /** One run per commit; the writer merges all runs into one segment of all files when a random draw decides so. */
  case object Probabilistic extends Layout("probabilistic merge", "") {
    override val confs: Map[String, String] = ByProcedure
    override def prepare(table: Table): Unit = { build(table); save(table, inOne(stored(table))) }
    override def afterCommit(table: Table): Unit = {
      val extended = Layout.extended(table)
      save(table, if (Merging.isDue(table, extended, MergePolicy.Probabilistic())) inOne(extended) else extended)
    }
    override val hasHotTier = false
  }

  /** New segments are stored and also remain in the writer's memory; no segments are merged. */
  case object Dual extends Layout("dual tier", "-5 %, queries 1.2 s hot, 2.8 s cold") {
    override val confs: Map[String, String] = ByProcedure + ("spark.sql.zonemap.hot.maxBytes" -> HotBytes)
    private val settings = PlannerSettings(
      upkeep = UpkeepMode.Off,
      hotMaxBytes = 24L << 20,
      maintenance = UpkeepSettings(merge = NeverMerged))
    override def prepare(table: Table): Unit = build(table)
    override def afterCommit(table: Table): Unit =
      new IndexAdmin(process).refresh(table, table.currentSnapshot(), settings, new LocalRunner(_)): Unit
    override val hasHotTier = true
  }

  /** The index follows commits on its own and writes a separate store; no segments are merged. */
  case object Decoupled extends Layout("decoupled store", "-2 %") {
    override val confs: Map[String, String] =
      Following ++ Map("spark.sql.zonemap.merge.policy" -> "off", "spark.sql.zonemap.merge.hardCap" -> "1000000")
    override def prepare(table: Table): Unit = build(table)
    override def afterCommit(table: Table): Unit = ()
    override val hasHotTier = false
  }

  /** The default settings. */
  case object Combined extends Layout("all combined", "") {
    override val confs: Map[String, String] = Following + ("spark.sql.zonemap.hot.maxBytes" -> HotBytes)
    override def prepare(table: Table): Unit = build(table)
    override def afterCommit(table: Table): Unit = ()
    override val hasHotTier = true
  }

  lazy val indexed: Seq[Layout] = Seq(Master, Hierarchical, Probabilistic, Dual, Decoupled, Combined)

  /** The keys of all confs that any layout sets. */
  private lazy val confKeys: Set[String] = (NoIndex +: indexed).flatMap(_.confs.keys).toSet

  private def build(table: Table): Unit =
    new IndexAdmin(process).build(
      table,
      table.currentSnapshot(),
      PlannerSettings(upkeep = UpkeepMode.Off, maintenance = UpkeepSettings(merge = NeverMerged)),
      new LocalRunner(_)): Unit

  private def process = UpkeepProcess.ofJvm.index

  private def store(table: Table): IndexStore = IndexStore.of(table, None, process.access)

  private def stored(table: Table): SnapshotIndex =
    StoredSnapshots.load(table, table.currentSnapshot(), store(table)).get

  private def save(table: Table, index: SnapshotIndex): Unit =
    SnapshotWriter.save(table, index, store(table), process.held(table)): Unit

  /** The stored index of the parent snapshot, extended by the files that the current snapshot added. */
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
