// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import java.util.{Collections, IdentityHashMap}

import scala.jdk.CollectionConverters._

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.read.{LocalScan, Scan}
import org.apache.spark.sql.execution.{CommandResultExec, LocalTableScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, AdaptiveSparkPlanHelper}
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.iceberg.plan.ZoneMapTable
import zonemap.iceberg.report.{AggregateReason, PlanReport, StockReason, SwapReason}
import zonemap.insight.explain.FoundScan.ScanDetails
import zonemap.spark.aggregate.{AnsweredRows, AnsweredScan, MetadataTableRule, NotAnswered, RemainingFilesScan}
import zonemap.spark.join.KeyFilteredScan
import zonemap.spark.scan.{ForwardingScan, IcebergScans, PlannableTables, RowLevelTables, SqlNames, SwapDecision}
import zonemap.spark.scan.{SwapRule, ZoneMapRelation}

/**
 * Finds the scans of Iceberg tables in a physical plan, and how each was planned. EXPLAIN and `why_not` describe the
 * same scans. It plans and executes nothing.
 */
private[zonemap] final class ScanFinder(tables: PlannableTables) extends AdaptiveSparkPlanHelper {
  import ScanFinder._

  def of(plan: SparkPlan): Seq[FoundScan] = {
    lazy val uses = ScanUse.of(logicalPlans(plan))
    // the subqueries of dynamic pruning have copies of plans with the same scans
    val seen = Collections.newSetFromMap(new IdentityHashMap[Scan, java.lang.Boolean])
    collectWithSubqueries(plan) {
      case scan: BatchScanExec => if (seen.add(ForwardingScan.ofLogical(scan.scan))) ofScan(scan, uses).toSeq else Nil
      case rows: LocalTableScanExec      => AnsweredRows.scanOf(rows).map(ofAnswered).orElse(ofIceberg(rows)).toSeq
      case cached: InMemoryTableScanExec => of(cached.relation.cachedPlan).map(_.cached)
      // the plan of a command that has run
      case result: CommandResultExec => of(result.commandPhysicalPlan)
    }.flatten
  }

  /** The optimized plans of which the parts of a physical plan are made, whole plans before their parts. */
  private def logicalPlans(plan: SparkPlan): Seq[LogicalPlan] =
    collectWithSubqueries(plan) {
      case adaptive: AdaptiveSparkPlanExec      => adaptive.inputPlan.logicalLink
      case other if other.logicalLink.isDefined => other.logicalLink
    }.flatten

  private def ofScan(scan: BatchScanExec, uses: Scan => Option[ScanUse]): Option[FoundScan] =
    scan.table match {
      case table: SparkTable => Some(ofScan(scan, table, uses, tables.decide))
      case other             => Option(RowLevelTables.target(other)).map(ofScan(scan, _, uses, tables.decideForCommand))
    }

  private def ofScan(
      scan: BatchScanExec,
      table: SparkTable,
      uses: Scan => Option[ScanUse],
      decide: (SparkTable, CaseInsensitiveStringMap) => SwapDecision): FoundScan =
    table.table() match {
      case ours: ZoneMapTable if ours.lastPlan() != null =>
        val report = IcebergScans.report(scan.scan).orElse(Option(ours.lastPlan()))
        val details = detailsOf(ours, uses(ForwardingScan.ofLogical(scan.scan)))
        FoundScan.of(ours, sqlName(scan, ours.baseName()), report, details, notesOf(ours), afterPlanning(scan))
      case ours: ZoneMapTable if ours.pinned.snapshotId.isEmpty =>
        val reason = StockReason.EmptyTable
        stock(ours.baseName(), Coded.of(reason.code, reason.message, reason), scan)
      case ours: ZoneMapTable => stock(ours.baseName(), SwapReason.NotPlannedYet, scan)
      case _                  => ofStock(table, scan, decide(table, optionsOf(scan)))
    }

  private def ofAnswered(answered: AnsweredScan): FoundScan = {
    val table = answered.relation.table
    val details = detailsOf(table, Some(ScanUse(answered.scan, answered.conditions)))
    val name = SqlNames.of(answered.relation.relation, table.baseName())
    val report = answered.report.orElse(Option(table.lastPlan()))
    FoundScan.of(table, name, report, details, notesOf(table), Seq(ScanNote.parse(answered.note)))
  }

  /** A scan that Iceberg replaced by rows: it evaluated an aggregate from the statistics of all files. */
  private def ofIceberg(rows: LocalTableScanExec): Option[FoundScan] =
    rows.logicalLink
      .flatMap(_.collectFirst { case found: DataSourceV2ScanRelation if found.scan.isInstanceOf[LocalScan] => found })
      .flatMap(found => ZoneMapRelation.unapply(found.relation))
      .map { relation =>
        val reason = StockReason.ColumnStatsRequested
        val isOff = relation.conf.exists(!_.aggregates)
        val note = ScanNote.ofIceberg(if (isOff) AggregateReason.SwitchedOff else AggregateReason.OfIceberg)
        val name = relation.table.baseName()
        val sqlName = SqlNames.of(relation.relation, name)
        FoundScan.Stock(name, sqlName, Coded.of(reason.code, reason.message, reason), Nil, Seq(note))
      }

  private def detailsOf(table: ZoneMapTable, use: Option[ScanUse]): PlanReport => Option[ScanDetails] =
    report =>
      for (known <- use; relation <- relationOf(known.scan, table))
        yield ScanDetails(relation, known, report, isAggregateNoted(known.scan.scan, known))

  private def relationOf(scan: DataSourceV2ScanRelation, table: ZoneMapTable): Option[ZoneMapRelation] =
    ZoneMapRelation.sparkTableOf(scan.relation).map(ZoneMapRelation(scan.relation, _, table))

  private def notesOf(table: ZoneMapTable): Seq[ScanNote] = table.notes().asScala.toSeq.map(ScanNote.parse)

  private def afterPlanning(scan: BatchScanExec): Seq[ScanNote] = {
    val inCommand = placeInCommand(scan)
    inCommand.toSeq ++ (scan.scan match {
      case filtered: KeyFilteredScan       => filtered.notes.map(ScanNote.parse)
      case remaining: RemainingFilesScan   => Seq(ScanNote.parse(remaining.note))
      case _ if inCommand.contains(Search) => Nil
      case plain => scan.logicalLink.flatMap(NotAnswered.reasonFor(plain, _)).map(ScanNote.of).toSeq
    })
  }

  /** What a scan of the target does in a copy-on-write command. */
  private def placeInCommand(scan: BatchScanExec): Option[ScanNote] =
    if (scan.table.isInstanceOf[SparkTable]) Option.when(SwapRule.isOfCommand(optionsOf(scan)))(Search)
    else
      Option.when(scan.runtimeFilters.nonEmpty && IcebergScans.isFilteredByFiles(ForwardingScan.innermost(scan.scan)))(
        Target)

  /** The aggregate above the target of a command is that of Spark's search, and not of the user's statement. */
  private def isAggregateNoted(scan: Scan, use: ScanUse): Boolean =
    scan.isInstanceOf[RemainingFilesScan] || SwapRule.isOfCommand(use.scan.relation.options) ||
      NotAnswered.reasonFor(scan, use.scan).isDefined

  private def ofStock(table: SparkTable, scan: BatchScanExec, decision: SwapDecision): FoundScan =
    decision match {
      case SwapDecision.Leave(reason) =>
        val ofMetadata = logicalScan(scan).flatMap(found => MetadataTableRule.reasonFor(found.relation))
        stock(table.table().name(), ofMetadata.getOrElse(reason), scan)
      case _: SwapDecision.Swap => stock(table.table().name(), SwapReason.NotAQueryScan, scan)
    }

  private def stock(table: String, reason: SwapReason, scan: BatchScanExec): FoundScan =
    stock(table, Coded.of(reason.code, reason.message, reason), scan)

  private def stock(table: String, reason: Coded, scan: BatchScanExec): FoundScan =
    FoundScan.Stock(table, sqlName(scan, table), reason, Nil, afterPlanning(scan))

  private def sqlName(scan: BatchScanExec, table: String): String =
    logicalScan(scan).fold(SqlNames.of(table))(found => SqlNames.of(found.relation, table))

  /** The read options of the query. */
  private def optionsOf(scan: BatchScanExec): CaseInsensitiveStringMap =
    logicalScan(scan).fold(CaseInsensitiveStringMap.empty())(_.relation.options)

  private def logicalScan(scan: BatchScanExec): Option[DataSourceV2ScanRelation] =
    scan.logicalLink.flatMap(_.collectFirst {
      case found: DataSourceV2ScanRelation if found.scan eq ForwardingScan.ofLogical(scan.scan) => found
    })
}

private object ScanFinder {
  private val Search =
    ScanNote("search", "Spark finds the files with matching rows by this scan, before it reads the target")
  private val Target = ScanNote("target", "of these files Spark reads and rewrites those that its search has found")
}
