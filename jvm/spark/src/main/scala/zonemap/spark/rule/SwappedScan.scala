package zonemap.spark.rule

import org.apache.spark.sql.catalyst.expressions.{Expression, NamedExpression}
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

import zonemap.core.predicate.Predicate
import zonemap.iceberg.plan.ZoneMapTable
import zonemap.spark.conf.ZoneMapConf
import zonemap.spark.expression.ExactTranslator
import zonemap.spark.join.ZoneMapRelation

/**
 * Projects and filters, all deterministic, above a relation of ours, and nothing else.
 *
 * @param output what the topmost of them puts out, in terms of the relation's columns
 * @param conditions all conditions of the filters, in the same terms
 */
private[spark] final class SwappedScan(
    val output: Seq[NamedExpression],
    conditions: Seq[Expression],
    val found: ZoneMapRelation) {

  def table: ZoneMapTable = found.table

  /** TRUE for a row only if it is in the scan's result. */
  def keepsAll: Predicate = new ExactTranslator(found.columns).whenTrue(conditions)

  /** Whether a rule that leaves its mark on relations may change this one. */
  def isOpenTo(marker: String, isOn: ZoneMapConf => Boolean): Boolean =
    !found.isMarked(marker) && found.conf.exists(isOn)

  /** The plan that the scan was found in, with another relation in the place of the scan's. */
  def replaced(plan: LogicalPlan, relation: DataSourceV2Relation): LogicalPlan =
    plan.transformDown { case old: DataSourceV2Relation if old eq found.relation => relation }
}

private[spark] object SwappedScan {
  def unapply(plan: LogicalPlan): Option[SwappedScan] =
    plan match {
      case PhysicalOperation(output, conditions, ZoneMapRelation(found))
          if (output ++ conditions).forall(_.deterministic) =>
        Some(new SwappedScan(output, conditions, found))
      case _ => None
    }
}
