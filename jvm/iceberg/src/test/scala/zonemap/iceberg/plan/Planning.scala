// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.{BaseTable, BatchScan, FileScanTask}
import org.apache.iceberg.expressions.{Expression, Expressions}
import org.apache.iceberg.io.CloseableIterable
import org.apache.iceberg.metrics.LoggingMetricsReporter

import zonemap.iceberg.admin.BuildResult
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.report.{PlanMode, PlanReport, StockReason}
import zonemap.iceberg.settings.{CoverOnRead, PlannerSettings, UpkeepMode}
import zonemap.iceberg.testing.{TestProcess, TestTable}

/** One planned scan: its tasks by path, and its report. */
final case class Planned(tasks: Seq[FileScanTask], report: PlanReport) {
  lazy val paths: Set[String] = tasks.map(_.file().location()).toSet

  def mode: PlanMode = report.mode

  def reason: Option[StockReason] = mode match {
    case PlanMode.Stock(reason) => Some(reason)
    case _                      => None
  }
}

/** Plans the same scan from the index and by Iceberg. */
object Planning {
  type Refine = BatchScan => BatchScan

  /** Only `build` indexes snapshots. */
  val Off: PlannerSettings = PlannerSettings(upkeep = UpkeepMode.Off)

  /** Every plan first covers its snapshot in memory, without a write to a store. */
  val Covering: PlannerSettings = PlannerSettings(upkeep = UpkeepMode.Memory, coverOnRead = CoverOnRead.Wait)

  def build(table: TestTable, settings: PlannerSettings = Off)(implicit process: TestProcess): BuildResult = {
    val loaded = table.load()
    process.index.use(settings)
    process.admin.build(loaded, loaded.currentSnapshot(), settings, new LocalRunner(_))
  }

  /** A fresh relation of the table, pinned to its current snapshot. */
  def relation(table: TestTable, settings: PlannerSettings = Off)(implicit process: TestProcess): ZoneMapTable = {
    process.index.use(settings)
    val snapshot = table.current
    new ZoneMapTable(
      table.operations,
      table.name,
      LoggingMetricsReporter.instance(),
      if (snapshot == null) null else Long.box(snapshot.snapshotId()),
      settings,
      process.now)
  }

  def ours(
      table: TestTable,
      filter: Expression = Expressions.alwaysTrue(),
      settings: PlannerSettings = Off,
      refine: Refine = identity)(implicit process: TestProcess): Planned = {
    val relation = Planning.relation(table, settings)
    val tasks = plan(relation, filter, refine)
    Planned(tasks, relation.lastPlan())
  }

  /** Iceberg's own plan of the same scan. */
  def stock(
      table: TestTable,
      filter: Expression = Expressions.alwaysTrue(),
      refine: Refine = identity): Seq[FileScanTask] =
    plan(table.load(), filter, refine)

  def plan(table: BaseTable, filter: Expression, refine: Refine): Seq[FileScanTask] =
    Using.resource(refine(table.newBatchScan()).filter(filter).planFiles()) { tasks =>
      tasks.asScala.map(_.asFileScanTask()).toList
    }

  /** The differences that [[ShadowCheck]] finds between two plans: fields of common tasks, duplicates. */
  def difference(ours: Seq[FileScanTask], stock: Seq[FileScanTask]): Option[String] =
    ShadowCheck.compare(ours.asJava, CloseableIterable.withNoopClose(stock.asJava)).map(_.message)
}
