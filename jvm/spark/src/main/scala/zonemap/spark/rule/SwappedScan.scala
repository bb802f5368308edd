package zonemap.spark.rule

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.expressions.{Expression, NamedExpression}
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

import zonemap.core.predicate.Predicate
import zonemap.iceberg.plan.ZoneMapTable
import zonemap.spark.expression.{ColumnResolver, ExactTranslator}

/**
 * Projects and filters, all deterministic, above a swapped relation, and nothing else.
 *
 * @param output what the topmost of them puts out, in terms of the relation's columns
 * @param conditions all conditions of the filters, in the same terms
 */
private[rule] final class SwappedScan(
    val output: Seq[NamedExpression],
    conditions: Seq[Expression],
    val relation: DataSourceV2Relation,
    table: SparkTable,
    val zoneMapTable: ZoneMapTable) {

  val columns: ColumnResolver = new SchemaColumns(relation, SparkTables.schema(table))

  /** TRUE for a row only if it is in the scan's result. */
  def keepsAll: Predicate = new ExactTranslator(columns).whenTrue(conditions)

  /** The relation over another table in the place of ours. */
  def relationOver(other: ZoneMapTable): DataSourceV2Relation =
    relation.copy(table = SparkTables.copyWithin(table, other))
}

private[rule] object SwappedScan {
  def unapply(plan: LogicalPlan): Option[SwappedScan] =
    plan match {
      case PhysicalOperation(output, conditions, relation @ DataSourceV2Relation(table: SparkTable, _, _, _, _, _))
          if (output ++ conditions).forall(_.deterministic) =>
        table.table() match {
          case ours: ZoneMapTable => Some(new SwappedScan(output, conditions, relation, table, ours))
          case _                  => None
        }
      case _ => None
    }
}
