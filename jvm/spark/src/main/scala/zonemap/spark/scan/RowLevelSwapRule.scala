// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, RowLevelWrite}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

import zonemap.iceberg.plan.ZoneMapTable

/**
 * Lets the index plan the scan of the table that a DELETE, UPDATE or MERGE changes.
 *
 * Spark gives such a command one operation of Iceberg, which makes both the scan and the write, so that the write knows
 * the snapshot, the filter and the tasks of its scan. The rule replaces the Iceberg table below the operation, at each
 * place of the plan at once. The operation, the scan, the write and the commit stay Iceberg's (ADR 41).
 *
 * The rule runs only before Spark plans scans, when no operation has made a scan yet. The relation of the original
 * table is not a part of the write and stays as it is: Spark uses it for metadata deletes, and refreshes cached data by
 * it.
 */
private[zonemap] final class RowLevelSwapRule(tables: PlannableTables) extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.transformDown { case command: RowLevelWrite =>
      Guarded.orNothing("the index for the scan of its target")(swapped(command)).getOrElse(command)
    }

  private def swapped(command: RowLevelWrite): Option[LogicalPlan] =
    command.table match {
      case written: DataSourceV2Relation if !SwapRule.isSwapped(written.options) =>
        for {
          target <- Option(RowLevelTables.target(written.table))
          other <- tables.forCommand(target, written.options)
          table <- Option(RowLevelTables.withTarget(written.table, other))
        } yield {
          def over(relation: DataSourceV2Relation) =
            SwapRule.marked(relation.copy(table = table), isOurs = other.table().isInstanceOf[ZoneMapTable])
          val reads = command.transformWithSubqueries {
            case relation: DataSourceV2Relation if relation.table eq written.table => over(relation)
          }
          reads match {
            case changed: RowLevelWrite => changed.withNewTable(over(written))
            case _                      => command
          }
        }
      case _ => None
    }
}
