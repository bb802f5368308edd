// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.runtime

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}

import zonemap.spark.aggregate.AggregateRule
import zonemap.spark.conf.UnknownConfs
import zonemap.spark.join.{RuntimeJoinRule, RuntimeSubqueryRule}
import zonemap.spark.metrics.{DriverMetrics, QueryRuns}
import zonemap.spark.part.StartedPart
import zonemap.spark.scan.{PlannedBefore, SparkMinor, SwapRule}

/**
 * Adds the rules of parts, [[AggregateRule]], [[RuntimeSubqueryRule]] and [[RuntimeJoinRule]] to the session's
 * `experimental.extraOptimizations`: only rules of this list run after Spark has planned scans. Also names the explain
 * provider in the session's conf, adds the metrics of the driver to Spark's metrics system, lets [[QueryRuns]] listen
 * to the application, and warns of unknown confs and read options.
 *
 * Users may set the list and the conf, so every query checks both.
 *
 * A plan that already contains planned scans was optimized before, and a recursive query may run such a plan again with
 * other join keys. The added rules change a scan permanently, so this rule marks such scans with [[PlannedBefore]] and
 * the added rules leave them unchanged.
 */
private[zonemap] final class RegisterScanRules(
    session: SparkSession,
    parts: Seq[StartedPart],
    metrics: DriverMetrics,
    runs: QueryRuns,
    unknownConfs: UnknownConfs)
    extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    parts.foreach(_.queryOf(session))
    ExplainProvider.register(conf)
    unknownConfs.check(conf)
    metrics.registerWith(session.sparkContext)
    runs.listenTo(session.sparkContext)
    val methods = session.experimental
    // the rules of parts must see the scans before the others wrap or replace them. AggregateRule must run before
    // RuntimeJoinRule: RuntimeJoinRule duplicates the broadcast side, and AggregateRule skips scans that
    // occur twice
    val missing =
      (parts.flatMap(_.scanRules) ++ Seq(AggregateRule, RuntimeSubqueryRule, RuntimeJoinRule))
        .filterNot(methods.extraOptimizations.contains)
    if (missing.nonEmpty) methods.extraOptimizations ++= missing
    SparkMinor.foreachWithSubqueries(plan) {
      case scan: DataSourceV2ScanRelation => PlannedBefore.mark(scan)
      case relation: DataSourceV2Relation =>
        unknownConfs.check(relation.options.keySet().asScala.filterNot(SwapRule.isMarker))
      case _ => ()
    }
    plan
  }
}
