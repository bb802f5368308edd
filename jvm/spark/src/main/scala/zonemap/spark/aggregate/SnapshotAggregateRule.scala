// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.aggregate

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal, StartsWith}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Subquery, UnionLoop}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.unsafe.types.UTF8String

import zonemap.iceberg.plan.IndexQuestions
import zonemap.spark.scan.{Guarded, OtherEngines}

/**
 * Replaces COUNT, MIN and MAX over a relation by rows from the index if the index proves the results over all files
 * that may hold a row of the query (SOUNDNESS, S150). No scan is left, so nothing is planned and no task is made.
 *
 * The rule runs before Spark plans scans, when Iceberg has not seen the aggregate yet. Otherwise it leaves the plan
 * unchanged: Iceberg may evaluate the aggregate from its manifests, and else [[AggregateRule]] answers single files.
 * See ADR 37.
 */
private[zonemap] object SnapshotAggregateRule extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan match {
      case subquery: Subquery if subquery.correlated                                       => plan
      case _ if plan.exists(_.isInstanceOf[UnionLoop]) || OtherEngines.areConfigured(conf) => plan
      case _ =>
        plan.transformUp { case aggregate: Aggregate =>
          Guarded.orNothing("aggregates from the index")(answered(aggregate)).getOrElse(aggregate)
        }
    }

  private def answered(aggregate: Aggregate): Option[LogicalPlan] =
    aggregate match {
      case AggregatedScan(found) if found.scan.isEmpty && found.isOn && !found.conditions.exists(isMiscounted) =>
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
      case _ => None
    }

  /** Whether Iceberg's readers may drop rows by a prefix that Spark does not check (SOUNDNESS, S67). */
  private def isMiscounted(condition: Expression): Boolean =
    condition.exists {
      case StartsWith(_, Literal(prefix: UTF8String, _)) => prefix.numChars() < prefix.toString.length
      case _                                             => false
    }
}
