package zonemap.spark.join

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/**
 * Puts [[RuntimeJoinRule]] among the session's own optimizer rules, the only ones that run after scans are planned.
 *
 * Those are a list that users may set, so it is looked at with every query; a rule of ours is added once.
 *
 * A plan that comes with planned scans has been optimized before and may be run again, with other keys: recursive queries
 * do that. Keys change a scan for good, so such scans never get any.
 */
private[spark] final class RegisterRuntimeJoinRule(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    val methods = session.experimental
    if (!methods.extraOptimizations.contains(RuntimeJoinRule)) methods.extraOptimizations :+= RuntimeJoinRule
    plan.foreachWithSubqueries {
      case scan: DataSourceV2ScanRelation =>
        ZoneMapRelation.unapply(scan.relation).foreach(_.table.forgetPlannedFiles())
      case _ => ()
    }
    plan
  }
}
