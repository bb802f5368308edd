package zonemap.spark.explain

import scala.jdk.CollectionConverters._

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.execution.{LocalTableScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.iceberg.plan.{PlanMode, PlanReport, ZoneMapTable}
import zonemap.spark.aggregate.{AnsweredScan, RemainingFilesScan}
import zonemap.spark.join.KeyFilteredScan
import zonemap.spark.rule.{SwapDecision, SwapRule}

/**
 * What became of every scan of a plan, as text.
 *
 * Iceberg plans files while Spark optimizes, so the outcome is known before anything runs.
 */
private[spark] final class ExplainText(swap: SwapRule) extends AdaptiveSparkPlanHelper {

  def of(plan: SparkPlan): String = {
    val texts = collectWithSubqueries(plan) {
      case scan: BatchScanExec =>
        Option(scan.table).collect { case table: SparkTable => describe(table) ++ afterPlanning(scan, table) }
      case rows: LocalTableScanExec =>
        rows.logicalLink.flatMap(_.getTagValue(AnsweredScan.Tag)).map(scan => describe(scan.table) + "\n  " + scan.note)
    }.flatten
    if (texts.isEmpty) "no scan of an Iceberg table" else texts.mkString("\n")
  }

  private def afterPlanning(scan: BatchScanExec, table: SparkTable): String =
    (scan.scan, table.table()) match {
      case (filtered: KeyFilteredScan, _)     => filtered.notes.map("\n  " + _).mkString
      case (remaining: RemainingFilesScan, _) => "\n  " + remaining.note
      case (_, ours: ZoneMapTable) if ours.notAnswered() != null =>
        val reason = ours.notAnswered()
        s"\n  aggregates: all files read, ${reason.code} (${reason.message})"
      case _ => ""
    }

  private def describe(table: SparkTable): String =
    table.table() match {
      case ours: ZoneMapTable if ours.lastPlan() != null =>
        (describe(ours.lastPlan()) +: ours.notes().asScala.map("  " + _).toSeq).mkString("\n")
      case ours: ZoneMapTable => stock(ours.name(), "NOT_PLANNED_YET", "its files have not been planned yet")
      case other =>
        swap.decide(table, CaseInsensitiveStringMap.empty()) match {
          case SwapDecision.Leave(reason) => stock(other.name(), reason.code, reason.message)
          case _: SwapDecision.Swap =>
            stock(other.name(), "NOT_A_QUERY_SCAN", "row-level commands scan their target by Iceberg's own plan")
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
          else s"\n  bounds of ${report.doubtful} files used by Iceberg's own filter only (they may lack field ids)"
        val afterZones = report.facts.fold(report.kept)(_.asked)
        val facts = report.facts.fold("")(f => s"\n  kept after facts: ${f.kept} (${f.answered.mkString(", ")})")
        f"""table ${report.table} snapshot ${report.snapshotId} mode ${mode.name} tier ${report.tier.fold("-")(_.name)}
           |  files considered: ${report.considered}
           |  kept after partitions: ${report.keptAfterPartitions}
           |  kept after zones: $afterZones$facts
           |  predicate: ${report.predicate}$bound$limit$doubtful
           |  planned in ${report.millis}%.1f ms""".stripMargin
    }

  private def stock(table: String, code: String, message: String): String =
    s"table $table mode STOCK\n  reason: $code ($message)"
}
