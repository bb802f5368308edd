// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.rule

import org.apache.spark.sql.catalyst.expressions.IntegerLiteral
import org.apache.spark.sql.catalyst.plans.logical.{LocalLimit, LogicalPlan, Offset}
import org.apache.spark.sql.catalyst.rules.Rule

import zonemap.iceberg.plan.IndexQuestions
import zonemap.iceberg.prune.LimitCut
import zonemap.spark.scan.{Guarded, SwappedScan, ZoneMapRelation}

/**
 * Prunes files for `LIMIT k` directly above a scan: the scan plans only as many files as hold k rows of the result, if
 * the index proves that these files hold them (SOUNDNESS, S98).
 *
 * A local limit accepts any k rows of its child, so the rule applies to local limits anywhere in the plan; Spark itself
 * adds them below unions and outer joins. The limit remains in the plan. The relation gets a [[ZoneMapTable]] with a
 * distinct name, so that Spark and Iceberg do not share its scan with other queries: see ADR 7.
 */
private[zonemap] object LimitRule extends Rule[LogicalPlan] {

  /** The key of the limit's digest in the relation's options; no read option has this name. */
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
