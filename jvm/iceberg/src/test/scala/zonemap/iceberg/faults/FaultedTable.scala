package zonemap.iceberg.faults

import java.nio.file.Path

import org.apache.iceberg._
import org.apache.iceberg.ExpireSnapshots.CleanupLevel
import org.apache.iceberg.expressions.{Expression, Expressions}
import org.apache.iceberg.metrics.LoggingMetricsReporter
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.required

import zonemap.iceberg.plan.{Planned, Planning, ZoneMapTable}
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.testing.{FolderFileIO, FolderTableOperations, Stats, TestFiles, TestProcess}

/** A table in a folder whose store meets faults; its data files exist in metadata only. */
final class FaultedTable(val io: FaultyFileIO)(implicit process: TestProcess) {
  import FaultedTable._

  val operations = new FolderTableOperations(io)

  /** A new table object, as another session would load it. */
  def load(): BaseTable = {
    operations.refresh()
    new BaseTable(operations, Name)
  }

  def current: Snapshot = load().currentSnapshot()

  /** Commits a file of ten ids. */
  def append(k: Int): Unit = {
    val metrics = TestFiles.metrics(
      TableSchema,
      10,
      Map(
        "id" -> Stats.range(k * 10L, k * 10L + 9),
        "name" -> Stats.range(s"n$k", s"n${k}z"),
        "other" -> Stats.range(0L, 1000L)))
    val file = DataFiles
      .builder(PartitionSpec.unpartitioned())
      .withPath(s"${FolderFileIO.Root}t/data/$k.parquet")
      .withFormat(FileFormat.PARQUET)
      .withFileSizeInBytes(1000L + k)
      .withMetrics(metrics)
      .build()
    load().newFastAppend().set("spark.app.id", "tests").appendFile(file).commit()
  }

  /** Commits position deletes of one data file. */
  def delete(k: Int): Unit = {
    val deletes = FileMetadata
      .deleteFileBuilder(PartitionSpec.unpartitioned())
      .ofPositionDeletes()
      .withPath(s"${FolderFileIO.Root}t/data/deletes-$k.parquet")
      .withFormat(FileFormat.PARQUET)
      .withFileSizeInBytes(77)
      .withRecordCount(1)
      .withReferencedDataFile(s"${FolderFileIO.Root}t/data/$k.parquet")
      .build()
    load().newRowDelta().addDeletes(deletes).commit()
  }

  def expire(retain: Int): Unit =
    load()
      .expireSnapshots()
      .expireOlderThan(Long.MaxValue)
      .retainLast(retain)
      .cleanupLevel(CleanupLevel.NONE)
      .commit()

  /** Plans every filter within the bound, and requires Iceberg's own tasks. */
  def plans(of: TestProcess = process): Seq[Planned] = Filters.map { filter =>
    val (planned, millis) = plan(filter, Settings, of)
    require(millis <= MaxPlanMillis, s"$filter, ${planned.mode}: a plan took $millis ms")
    planned
  }

  /** Plans every filter with all the time that a sound store needs on a busy machine. */
  def patientPlans(): Seq[Planned] = Filters.map(plan(_, Settings.copy(maxStoreWaitMillis = 20000), process)._1)

  /** Plans from the index, and requires Iceberg's own tasks; returns the milliseconds too. */
  private def plan(filter: Expression, settings: PlannerSettings, of: TestProcess): (Planned, Long) = {
    val stock = Planning.plan(load(), filter, identity)
    of.index.use(settings)
    val started = System.nanoTime()
    val relation = new ZoneMapTable(
      operations,
      Name,
      LoggingMetricsReporter.instance(),
      Long.box(current.snapshotId()),
      settings,
      of.now)
    val planned = Planned(Planning.plan(relation, filter, identity), relation.lastPlan())
    val millis = (System.nanoTime() - started) / 1000000
    val expected = stock.map(_.file().location()).toSet
    require(planned.paths == expected, s"$filter, ${planned.mode}: ${planned.paths} and not $expected")
    Planning.difference(planned.tasks, stock).foreach(what => throw new AssertionError(s"$filter: $what"))
    (planned, millis)
  }
}

object FaultedTable {
  private val Name = "t"
  private val TableSchema = new Schema(
    required(1, "id", Types.LongType.get()),
    required(2, "name", Types.StringType.get()),
    required(3, "other", Types.LongType.get()))
  private val BudgetMillis = 100L

  /** The documented limit of all waits for a store is four times the setting; the rest is for a busy machine. */
  val MaxPlanMillis: Long = 4 * BudgetMillis + 1500

  val Settings: PlannerSettings = Planning.Off.copy(maxStoreWaitMillis = BudgetMillis, segmentRows = 2)

  val Filters: Seq[Expression] =
    Seq(Expressions.and(Expressions.equal("id", 15L), Expressions.startsWith("name", "n")), Expressions.alwaysTrue())

  /** Writes the metadata of a new table into an empty folder. */
  def create(folder: Path)(implicit process: TestProcess): FaultedTable = {
    val io = new FaultyFileIO(folder)
    FolderTableOperations.create(io, TableSchema)
    new FaultedTable(io)
  }
}
