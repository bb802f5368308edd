package zonemap.spark.explain

import scala.jdk.CollectionConverters._

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.execution.{LocalTableScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.iceberg.plan.ZoneMapTable
import zonemap.iceberg.report.{PlanMode, PlanReport, SwapReason}
import zonemap.spark.aggregate.{AnsweredScan, NotAnswered, RemainingFilesScan}
import zonemap.spark.join.KeyFilteredScan
import zonemap.spark.scan.{IcebergScans, SwapDecision, SwapRule}

/**
 * Creates the text of the EXPLAIN section, which describes how each scan of a query was planned.
 *
 * Iceberg plans files while Spark optimizes the query, so the text is complete before the query runs.
 */
private[spark] final class ExplainText(swap: SwapRule) extends AdaptiveSparkPlanHelper {

  def of(plan: SparkPlan): String = {
    val texts = collectWithSubqueries(plan) {
      case scan: BatchScanExec =>
        Option(scan.table).collect { case table: SparkTable => describe(scan, table) ++ afterPlanning(scan) }
      case rows: LocalTableScanExec =>
        rows.logicalLink.flatMap(_.getTagValue(AnsweredScan.Tag)).map(describe)
    }.flatten
    if (texts.isEmpty) "no scan of an Iceberg table" else texts.mkString("\n")
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

  private def describe(answered: AnsweredScan): String =
    describe(answered.table, answered.report) + "\n  " + answered.note

  private def describe(table: ZoneMapTable, report: Option[PlanReport]): String =
    (report.orElse(Option(table.lastPlan())).map(describe) ++ table.notes().asScala.map("  " + _)).mkString("\n")

  private def describe(scan: BatchScanExec, table: SparkTable): String =
    table.table() match {
      case ours: ZoneMapTable if ours.lastPlan() != null =>
        describe(ours, IcebergScans.planned(scan.scan).map(_.report))
      case ours: ZoneMapTable => stock(ours.name(), SwapReason.NotPlannedYet)
      case other =>
        swap.decide(table, CaseInsensitiveStringMap.empty()) match {
          case SwapDecision.Leave(reason) => stock(other.name(), reason)
          case _: SwapDecision.Swap       => stock(other.name(), SwapReason.NotAQueryScan)
        }
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
        val afterZones = report.facts.fold(report.kept)(_.asked)
        val facts = report.facts.fold("")(f => s"\n  kept after facts: ${f.kept} (${f.answered.mkString(", ")})")
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
