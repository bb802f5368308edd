// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.faults

import java.nio.file.Path

import org.apache.iceberg._
import org.apache.iceberg.ExpireSnapshots.CleanupLevel
import org.apache.iceberg.expressions.{Expression, Expressions}
import org.apache.iceberg.metrics.LoggingMetricsReporter
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.required

import zonemap.core.value.ZoneValues
import zonemap.iceberg.fact.FactReader
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

  /** Plans every filter within the bound, and requires Iceberg's own tasks, or those that the facts do not exclude. */
  def plans(of: TestProcess = process): Seq[Planned] = Filters.map { filter =>
    val (planned, millis) = plan(filter, Settings, of)
    require(millis <= MaxPlanMillis, s"$filter, ${planned.mode}: a plan took $millis ms")
    planned
  }

  /** Plans every filter with all the time that a sound store needs on a busy machine. */
  def patientPlans(): Seq[Planned] = Filters.map(plan(_, Patient, process)._1)

  /** Whether the plan of the filter that only facts can evaluate leaves out the files without its value. */
  def usesFacts(): Boolean = {
    val (stock, ours) = (Planning.plan(load(), ByFacts, identity), plan(ByFacts, Patient, process)._1)
    stock.size > 1 && ours.paths == stock.map(_.file().location()).filter(isNeeded(ByFacts)).toSet
  }

  /** Plans from the index, and requires the tasks of a right plan; returns the milliseconds too. */
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
    val needed = expected.filter(isNeeded(filter))
    require(
      needed.subsetOf(planned.paths) && planned.paths.subsetOf(expected),
      s"$filter, ${planned.mode}: ${planned.paths} and not $expected, at least $needed")
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

  private val Patient = Settings.copy(maxStoreWaitMillis = 20000)

  /** Bounds exclude no file: all files have the same. */
  private val ByFacts: Expression = Expressions.equal("other", valuesOf(1).head)

  val Filters: Seq[Expression] = Seq(
    Expressions.and(Expressions.equal("id", 15L), Expressions.startsWith("name", "n")),
    Expressions.alwaysTrue(),
    ByFacts)

  /** The values of the column `other` in the k-th data file. */
  private def valuesOf(k: Int): Seq[Long] = Seq(k * 7L + 1, 1000L - k)

  private def numberOf(path: String): Int = path.split('/').last.stripSuffix(".parquet").toInt

  private def isNeeded(filter: Expression)(path: String): Boolean =
    (filter ne ByFacts) || valuesOf(numberOf(path)).contains(valuesOf(1).head)

  /** Reads the rows of the data files that exist in metadata only. */
  val Reader: FactReader = (file, _, builders) =>
    valuesOf(numberOf(file.path)).foreach(value => builders.foreach(_.add(ZoneValues.ofLong(value))))

  /** Writes the metadata of a new table into an empty folder. */
  def create(folder: Path)(implicit process: TestProcess): FaultedTable = {
    val io = new FaultyFileIO(folder)
    FolderTableOperations.create(io, TableSchema)
    new FaultedTable(io)
  }
}
