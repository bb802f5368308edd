// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.iceberg.spark.source.SparkTable
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
          isOurs = other.table().isInstanceOf[ZoneMapTable]
          changed <- RowLevelSwapRule.over(command, written, other) { relation =>
            SwapRule.ofCommand(SwapRule.marked(relation, isOurs))
          }
        } yield changed
      case _ => None
    }
}

private[zonemap] object RowLevelSwapRule {

  /**
   * Returns the command with another target at each place where it reads or writes the one of `written`; `None` if
   * Iceberg's operation on it would be of another kind. No scan of the command may be planned yet.
   *
   * @param changed changes each relation of the new target further
   */
  def over(command: RowLevelWrite, written: DataSourceV2Relation, target: SparkTable)(
      changed: DataSourceV2Relation => DataSourceV2Relation): Option[LogicalPlan] =
    Option(RowLevelTables.withTarget(written.table, target)).map { table =>
      def of(relation: DataSourceV2Relation) = changed(relation.copy(table = table))
      val reads = command.transformWithSubqueries {
        case relation: DataSourceV2Relation if relation.table eq written.table => of(relation)
      }
      reads match {
        case over: RowLevelWrite => over.withNewTable(of(written))
        case _                   => command
      }
    }
}
