// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

import zonemap.spark.scan.{Guarded, OtherEngines, ScanPlaces, SparkMinor}

/**
 * Prunes files by conditions with a scalar subquery once Spark has its value: `ts > (SELECT max(ts) FROM mark)`.
 *
 * The rule repeats the condition as a runtime filter of the scan. Spark evaluates the subquery once for both, because
 * adaptive execution plans a subquery once and shares its result. Without adaptive execution a subquery that returns
 * another value each time could prune by one value and filter by another, so nothing is changed then. SOUNDNESS, S183.
 */
private[zonemap] object RuntimeSubqueryRule extends Rule[LogicalPlan] with PredicateHelper {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.containsPattern(TreePattern.SCALAR_SUBQUERY) || !isPossible(plan)) plan
    else
      Guarded
        .orNothing("pruning by the values of its subqueries at run time") {
          // a scan in the broadcast side of Spark's own pruning is met twice: a change would end the broadcast's reuse
          val once = ScanPlaces.metOnce(plan)
          val known = new PrunableScans
          Some(plan.transformUpWithPruning(_.containsPattern(TreePattern.SCALAR_SUBQUERY)) {
            case filter @ Filter(_, scan: DataSourceV2ScanRelation) if once(scan.scan) => filtered(filter, scan, known)
          })
        }
        .getOrElse(plan)

  /** A copy-on-write command drops the rows that its filter does not keep, so its scan must read them: ReplaceData. */
  private def isPossible(plan: LogicalPlan): Boolean =
    conf.adaptiveExecutionEnabled && conf.subqueryReuseEnabled && !plan.isStreaming &&
      !OtherEngines.areConfigured(conf) && !plan.exists {
        case _: ReplaceData => true
        case node           => SparkMinor.isRecursive(node)
      }

  private def filtered(filter: Filter, scan: DataSourceV2ScanRelation, known: PrunableScans): LogicalPlan =
    known.of(scan).toOption.filter(_.files.count > 1).fold[LogicalPlan](filter) { found =>
      val keys = for {
        condition <- splitConjunctivePredicates(filter.condition)
        if !condition.isInstanceOf[DynamicPruning]
        key <- found.subqueryCondition(condition)
        if key.restricts
      } yield condition -> EstimatedKey(key, hits = None)
      val (wrapped, passed) = keys.foldLeft((scan.scan, Seq.empty[Expression])) {
        case ((last, done), (condition, key)) =>
          KeyFilteredScan.over(last, found, key).fold((last, done)) { next =>
            (next, done :+ DynamicPruningExpression(condition))
          }
      }
      passed.reduceOption(And(_, _)).fold[LogicalPlan](filter) { passes =>
        filter.copy(child = Filter(passes, scan.copy(scan = wrapped)))
      }
    }
}
