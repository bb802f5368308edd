// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import scala.util.control.NonFatal

import org.apache.iceberg.BaseTable
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.slf4j.LoggerFactory

import zonemap.iceberg.plan.ZoneMapTable

/**
 * Pins each swapped relation to the metadata that its table has now, so that the rules and the scan of a query read one
 * snapshot, whatever is committed while Spark optimizes: SOUNDNESS, S170.
 *
 * Spark optimizes a plan anew when it fills its cache again, so the rule runs in the optimizer and not, like the swap,
 * when a plan is normalized: a cached plan must not keep its snapshot. A table whose relation cannot be pinned has no
 * rule, and its scans plan the snapshot that Iceberg gives them.
 */
private[scan] final class PinRule(tables: PlannableTables) extends Rule[LogicalPlan] {
  import PinRule._

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.transformWithSubqueries {
      case IcebergRelation(relation, table) if !SparkTables.isPinned(table, relation.options) =>
        table.table() match {
          case ours: ZoneMapTable if !ours.operations().isInstanceOf[PinnedOperations] => pin(relation, table, ours)
          case _                                                                       => relation
        }
    }

  private def pin(relation: DataSourceV2Relation, table: SparkTable, ours: ZoneMapTable): LogicalPlan =
    try {
      if (SparkTables.isRefreshed(table)) ours.refresh()
      val operations = new PinnedOperations(ours.operations())
      val current = SparkTables.copyWithin(table, new BaseTable(operations, ours.baseName()))
      val read = tables.pinned(current, ours.stock(), ours.pinned.settings)
      val digest = s"snapshot ${SparkTables.snapshotId(current).fold("none")(_.toString)}"
      relation.copy(table = SparkTables.copyWithin(current, ours.over(read, operations, digest)))
    } catch {
      case NonFatal(e) =>
        slf4j.warn(s"Zonemap: no rule changes the plan of a query of ${table.name()}: it cannot be pinned: $e")
        relation
    }
}

private object PinRule {
  private val slf4j = LoggerFactory.getLogger("zonemap.planner")
}
