package zonemap.spark.rule

import org.apache.spark.sql.catalyst.expressions.IntegerLiteral
import org.apache.spark.sql.catalyst.plans.logical.{LocalLimit, LogicalPlan, Offset}
import org.apache.spark.sql.catalyst.rules.Rule

import zonemap.iceberg.plan.{IndexQuestions, LimitCut}
import zonemap.spark.join.ZoneMapRelation

/**
 * `LIMIT k` right above a scan: the scan plans no more files than hold k rows of the result, where the index knows such
 * files (SOUNDNESS, S54).
 *
 * A local limit asks for any k rows, wherever it stands: Spark itself puts them below unions and outer joins. The limit
 * stays. The relation gets a table of its own, whose name tells it from every other scan: see ADR 7.
 */
private[spark] object LimitRule extends Rule[LogicalPlan] {

  /** The key of the cut's digest among a relation's options; no read option has this name. */
  val Marker = "zonemap.limit.digest"

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.transformWithSubqueries { case limit @ LocalLimit(IntegerLiteral(rows), child) =>
      Guarded
        .orNothing("pruning for its LIMIT")(cut(child, rows.toLong))
        .fold[LogicalPlan](limit)(child => limit.copy(child = child))
    }

  private def cut(plan: LogicalPlan, rows: Long): Option[LogicalPlan] =
    plan match {
      case offset @ Offset(IntegerLiteral(skipped), child) =>
        cut(child, rows + skipped).map(c => offset.copy(child = c))
      case SwappedScan(scan) if scan.isOpenTo(Marker, _.limit) =>
        val limit = LimitCut(rows, scan.keepsAll)
        Option.when(IndexQuestions.isWorthwhile(scan.table.pinned, limit)) {
          val digest = ZoneMapRelation.digestOf(limit.canonical)
          scan.replaced(plan, scan.found.over(scan.table.withLimit(limit, digest), Marker, digest))
        }
      case _ => None
    }
}
