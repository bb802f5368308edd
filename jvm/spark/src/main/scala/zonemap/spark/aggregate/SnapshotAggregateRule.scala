// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.aggregate

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal, StartsWith}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.unsafe.types.UTF8String

import zonemap.iceberg.plan.IndexQuestions

/**
 * Replaces COUNT, MIN and MAX over a relation, and the groups of a COUNT(DISTINCT x), by rows from the index if the index proves the results over all files
 * that may hold a row of the query (SOUNDNESS, S150). No scan is left, so nothing is planned and no task is made.
 *
 * The rule runs before Spark plans scans, when Iceberg has not seen the aggregate yet. Otherwise it leaves the plan
 * unchanged: Iceberg may evaluate the aggregate from its manifests, and else [[AggregateRule]] answers single files.
 * See ADR 37.
 */
private[zonemap] object SnapshotAggregateRule extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    AggregatedScan.replaced(plan) {
      case DistinctCount(count) => AggregatedScan.unapply(count.groups).flatMap(answered).map(count.over)
      case other                => AggregatedScan.unapply(other).flatMap(answered)
    }

  private def answered(found: AggregatedScan): Option[LogicalPlan] =
    if (found.scan.isDefined || !found.isOn || found.conditions.exists(isMiscounted)) None
    else
      for {
        question <- found.question.toOption
        relation = found.relation
        candidates = relation.mayBeTrue(found.conditions)
        (groups, report) <- IndexQuestions.aggregates(relation.table, relation.schema, candidates, question)
        plan = new AnsweredPlan(found, groups)
        rows <- plan.rows
      } yield {
        val note = AnsweredScan.note(report.kept, 0)
        val unplanned = relation.relation
        val scan = DataSourceV2ScanRelation(unplanned, UnplannedScan(unplanned.schema), unplanned.output)
        plan.whole(rows, AnsweredScan(relation, Some(report), note, scan, found.conditions))
      }

  /** Whether Iceberg's readers may drop rows by a prefix that Spark does not check (SOUNDNESS, S67). */
  private def isMiscounted(condition: Expression): Boolean =
    condition.exists {
      case StartsWith(_, Literal(prefix: UTF8String, _)) => prefix.numChars() < prefix.toString.length
      case _                                             => false
    }
}
