package zonemap.spark.runtime

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

import zonemap.spark.aggregate.AggregateRule
import zonemap.spark.join.{PlannedBefore, RuntimeJoinRule}

/**
 * Puts [[AggregateRule]] and [[RuntimeJoinRule]] among the session's own optimizer rules, the only ones that run after
 * scans are planned.
 *
 * Those are a list that users may set, so it is looked at with every query; a rule of ours is added once.
 *
 * A plan that comes with planned scans has been optimized before and may be run again, with other keys: recursive queries
 * do that. Keys and answered aggregates change a scan for good, so such scans never get any.
 *
 * @param eachQuery called with the session when it plans a query: rules are made while the session's state is, whose
 *   listeners are not there yet
 */
private[spark] final class RegisterScanRules(session: SparkSession, runtimeJoins: RuntimeJoinRule, rowChecks: RowChecks)
    extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    rowChecks.listenTo(session)
    val methods = session.experimental
    // keys of joins copy the side that is broadcast, and a scan that stands at two places is not answered
    val missing = Seq(AggregateRule, runtimeJoins).filterNot(methods.extraOptimizations.contains)
    if (missing.nonEmpty) methods.extraOptimizations ++= missing
    plan.foreachWithSubqueries {
      case scan: DataSourceV2ScanRelation => PlannedBefore.mark(scan)
      case _                              => ()
    }
    plan
  }
}
