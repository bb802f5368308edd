// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.spark.sql.catalyst.expressions.{Expression, NamedExpression}
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

import zonemap.core.predicate.Predicate
import zonemap.iceberg.plan.ZoneMapTable
import zonemap.spark.conf.ZoneMapConf
import zonemap.spark.expression.ExactTranslator

/**
 * A plan that consists only of deterministic projections and filters above a [[ZoneMapRelation]].
 *
 * @param output the output of the topmost operator, as expressions of the relation's columns
 * @param conditions all conditions of the filters, as expressions of the relation's columns
 */
private[zonemap] final class SwappedScan(
    val output: Seq[NamedExpression],
    conditions: Seq[Expression],
    val found: ZoneMapRelation) {

  def table: ZoneMapTable = found.table

  /** A predicate that is TRUE only for rows that satisfy all conditions of the filters. */
  def keepsAll: Predicate = new ExactTranslator(found.columns).whenTrue(conditions)

  /** True if the relation has no marker of this rule yet and the query's confs enable the rule. */
  def isOpenTo(marker: String, isOn: ZoneMapConf => Boolean): Boolean =
    !found.isMarked(marker) && found.conf.exists(isOn)

  /** Returns the plan that contains this scan, with the scan's relation replaced by `relation`. */
  def replaced(plan: LogicalPlan, relation: DataSourceV2Relation): LogicalPlan =
    plan.transformDown { case old: DataSourceV2Relation if old eq found.relation => relation }
}

private[zonemap] object SwappedScan {
  def unapply(plan: LogicalPlan): Option[SwappedScan] =
    plan match {
      case PhysicalOperation(output, conditions, ZoneMapRelation(found))
          if (output ++ conditions).forall(_.deterministic) =>
        Some(new SwappedScan(output, conditions, found))
      case _ => None
    }
}
