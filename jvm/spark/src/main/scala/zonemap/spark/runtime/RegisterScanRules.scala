package zonemap.spark.runtime

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

import zonemap.spark.advice.ObserveScans
import zonemap.spark.aggregate.AggregateRule
import zonemap.spark.conf.UnknownConfs
import zonemap.spark.join.RuntimeJoinRule
import zonemap.spark.metrics.{DriverMetrics, QueryRuns}
import zonemap.spark.scan.PlannedBefore
import zonemap.spark.shadow.RowChecks

/**
 * Adds [[ObserveScans]], [[AggregateRule]] and [[RuntimeJoinRule]] to `session.experimental.extraOptimizations`: only rules of this list
 * run after Spark has planned scans. Also names the explain provider in the session's conf, adds the metrics of the
 * driver to Spark's metrics system, lets [[QueryRuns]] listen to the application, and warns of unknown confs.
 *
 * Users may set the list and the conf, so every query checks both.
 *
 * A plan that already contains planned scans was optimized before, and a recursive query may run such a plan again with
 * other join keys. [[AggregateRule]] and [[RuntimeJoinRule]] change a scan permanently, so this rule marks such scans
 * with [[PlannedBefore]] and the other two leave them unchanged.
 */
private[spark] final class RegisterScanRules(
    session: SparkSession,
    observations: ObserveScans,
    runtimeJoins: RuntimeJoinRule,
    rowChecks: RowChecks,
    metrics: DriverMetrics,
    runs: QueryRuns,
    unknownConfs: UnknownConfs)
    extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    rowChecks.listenTo(session)
    ExplainProvider.register(conf)
    unknownConfs.check(conf)
    metrics.registerWith(session.sparkContext)
    runs.listenTo(session.sparkContext)
    val methods = session.experimental
    // ObserveScans must see the scans before the others wrap or replace them. AggregateRule must run before
    // RuntimeJoinRule: RuntimeJoinRule duplicates the broadcast side, and AggregateRule skips scans that
    // occur twice
    val missing = Seq(observations, AggregateRule, runtimeJoins).filterNot(methods.extraOptimizations.contains)
    if (missing.nonEmpty) methods.extraOptimizations ++= missing
    plan.foreachWithSubqueries {
      case scan: DataSourceV2ScanRelation => PlannedBefore.mark(scan)
      case _                              => ()
    }
    plan
  }
}
