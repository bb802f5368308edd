package zonemap.spark.explain

import scala.jdk.CollectionConverters._

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.{CommandResultExec, LocalTableScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, AdaptiveSparkPlanHelper}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.iceberg.plan.ZoneMapTable
import zonemap.iceberg.report.{PlanMode, PlanReport, StockReason, Survivable, SwapReason}
import zonemap.spark.aggregate.{AnsweredScan, NotAnswered, RemainingFilesScan}
import zonemap.spark.join.KeyFilteredScan
import zonemap.spark.scan.{IcebergScans, RowLevelTables, SwapDecision, SwapRule, ZoneMapRelation}

/**
 * Creates the text of the EXPLAIN section, which describes how each scan of a query was planned.
 *
 * Iceberg plans files while Spark optimizes the query, so the text is complete before the query runs.
 */
private[spark] final class ExplainText(swap: SwapRule) extends AdaptiveSparkPlanHelper {

  def of(plan: SparkPlan): String = {
    val texts = textsOf(plan)
    if (texts.isEmpty) "no scan of an Iceberg table" else texts.mkString("\n")
  }

  private def textsOf(plan: SparkPlan): Seq[String] = {
    lazy val uses = ScanUse.of(logicalPlans(plan))
    collectWithSubqueries(plan) {
      case scan: BatchScanExec => ofScan(scan, uses).toSeq
      case rows: LocalTableScanExec =>
        rows.logicalLink.flatMap(_.getTagValue(AnsweredScan.Tag)).map(describe).toSeq
      // the plan of a command that has run
      case result: CommandResultExec => textsOf(result.commandPhysicalPlan)
    }.flatten
  }

  /** The optimized plans of which the parts of a physical plan are made, whole plans before their parts. */
  private def logicalPlans(plan: SparkPlan): Seq[LogicalPlan] =
    collectWithSubqueries(plan) {
      case adaptive: AdaptiveSparkPlanExec      => adaptive.inputPlan.logicalLink
      case other if other.logicalLink.isDefined => other.logicalLink
    }.flatten

  private def ofScan(scan: BatchScanExec, uses: Scan => Option[ScanUse]): Option[String] =
    scan.table match {
      case table: SparkTable => Some(describe(scan, table, uses) ++ afterPlanning(scan))
      case other =>
        Option(RowLevelTables.target(other)).map(target => ofStock(target, optionsOf(scan)) ++ afterPlanning(scan))
    }

  private def afterPlanning(scan: BatchScanExec): String =
    scan.scan match {
      case filtered: KeyFilteredScan     => filtered.notes.map("\n  " + _).mkString
      case remaining: RemainingFilesScan => "\n  " + remaining.note
      case plain =>
        scan.logicalLink
          .flatMap(NotAnswered.reasonFor(plain, _))
          .fold("")(reason => s"\n  aggregates: all files read, ${reason.code} (${reason.message})")
    }

  private def isAggregateNoted(scan: Scan, use: ScanUse): Boolean =
    scan.isInstanceOf[RemainingFilesScan] || NotAnswered.reasonFor(scan, use.scan).isDefined

  private def describe(answered: AnsweredScan): String = {
    val use = ScanUse(answered.scan, answered.conditions)
    val report = answered.report.orElse(Option(answered.table.lastPlan()))
    (describe(answered.table, report) +: lines(answered.table, report, Some(use)) :+ answered.note).mkString("\n  ")
  }

  private def describe(table: ZoneMapTable, report: Option[PlanReport]): String =
    (report.map(describe) ++ table.notes().asScala.map("  " + _)).mkString("\n")

  private def describe(scan: BatchScanExec, table: SparkTable, uses: Scan => Option[ScanUse]): String =
    table.table() match {
      case ours: ZoneMapTable if ours.lastPlan() != null =>
        val report = IcebergScans.planned(scan.scan).map(_.report).orElse(Option(ours.lastPlan()))
        (describe(ours, report) +: lines(ours, report, uses(scan.scan))).mkString("\n  ")
      case ours: ZoneMapTable if ours.pinned.snapshotId.isEmpty =>
        val reason = StockReason.EmptyTable
        stock(ours.baseName(), reason.code, reason.message)
      case ours: ZoneMapTable => stock(ours.baseName(), SwapReason.NotPlannedYet)
      case _                  => ofStock(table, optionsOf(scan))
    }

  /** The lines about conditions and operators, for a scan that was planned from the index. */
  private def lines(table: ZoneMapTable, report: Option[PlanReport], use: Option[ScanUse]): Seq[String] =
    (for {
      planned <- report.toSeq
      if !planned.mode.isInstanceOf[PlanMode.Stock]
      known <- use
      relation <- relationOf(known.scan, table)
    } yield try
      IcebergScans.filterOf(known.scan.scan).toSeq.flatMap { filter =>
        new ConditionLines(relation, filter, planned).of(known.conditions)
      } ++ new OperatorLines(relation, planned).of(known, isAggregateNoted(known.scan.scan, known))
    catch { case Survivable(e) => Seq(s"conditions: not listed, because of an error: $e") }).flatten

  private def relationOf(scan: DataSourceV2ScanRelation, table: ZoneMapTable): Option[ZoneMapRelation] =
    scan.relation.table match {
      case spark: SparkTable => Some(ZoneMapRelation(scan.relation, spark, table))
      case _                 => None
    }

  /** The read options of the query. */
  private def optionsOf(scan: BatchScanExec): CaseInsensitiveStringMap =
    scan.logicalLink
      .flatMap(_.collectFirst { case found: DataSourceV2ScanRelation if found.scan eq scan.scan => found })
      .fold(CaseInsensitiveStringMap.empty())(_.relation.options)

  private def ofStock(table: SparkTable, options: CaseInsensitiveStringMap): String =
    swap.decide(table, options) match {
      case SwapDecision.Leave(reason) => stock(table.table().name(), reason)
      case _: SwapDecision.Swap       => stock(table.table().name(), SwapReason.NotAQueryScan)
    }

  private def describe(report: PlanReport): String =
    report.mode match {
      case PlanMode.Stock(reason) => stock(report.table, reason.code, reason.message)
      case mode =>
        val bound = report.topK.fold("")(b => s"\n  top-k bound: $b")
        val limit = report.limit.fold("")(n => s"\n  limit $n: ${report.kept} of ${report.considered} files")
        val doubtful =
          if (report.doubtful == 0) ""
          else s"\n  bounds of ${report.doubtful} files prune only by Iceberg's own filter (field ids may be missing)"
        val afterZones = report.facts.fold(report.kept)(_.evaluated)
        val facts = report.facts.fold("") { f =>
          s"\n  kept after facts: ${f.kept}" + (if (f.answered.isEmpty) "" else f.answered.mkString(" (", ", ", ")"))
        }
        f"""table ${report.table} snapshot ${report.snapshotId} mode ${mode.name} tier ${report.tier.fold("-")(_.name)}
           |  files considered: ${report.considered}
           |  kept after partitions: ${report.keptAfterPartitions}
           |  kept after zones: $afterZones$facts
           |  predicate: ${report.predicate}$bound$limit$doubtful
           |  planned in ${report.millis}%.1f ms""".stripMargin
    }

  private def stock(table: String, reason: SwapReason): String = stock(table, reason.code, reason.message)

  private def stock(table: String, code: String, message: String): String =
    s"table $table mode STOCK\n  reason: $code ($message)"
}
