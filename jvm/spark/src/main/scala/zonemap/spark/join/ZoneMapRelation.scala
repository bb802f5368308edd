package zonemap.spark.join

import org.apache.iceberg.spark.SparkReadOptions
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf

import zonemap.core.predicate.{ColumnRef, Predicate}
import zonemap.iceberg.plan.{FileSet, ZoneMapTable}
import zonemap.spark.conf.ZoneMapConf
import zonemap.spark.expression.ColumnResolver
import zonemap.spark.rule.{ExpressionRule, SchemaColumns, SparkTables, SwapDecision, SwapRule}

/** A relation whose scans read one pinned snapshot and are planned by us. */
private[spark] final case class ZoneMapRelation(
    relation: DataSourceV2Relation,
    sparkTable: SparkTable,
    table: ZoneMapTable) {

  /** The columns of the index, by what Spark calls them. */
  def columns: ColumnResolver = new SchemaColumns(relation, SparkTables.schema(sparkTable))

  /** The column of the index that an attribute is. */
  def column(attribute: Attribute): Option[ColumnRef] =
    attribute match {
      case reference: AttributeReference => columns.column(reference)
      case _                             => None
    }

  /** At least the files that hold rows for which all `conditions` are TRUE; `None` when the snapshot is not covered. */
  def files(conditions: Seq[Expression]): Option[FileSet] = {
    val asked = conditions.map(ExpressionRule.translateAll(relation, SparkTables.schema(sparkTable), _))
    FileSet.live(table).map(_.keep(Predicate.and(asked ++ Option(table.expressions): _*)))
  }

  def conf: Option[ZoneMapConf] = ZoneMapConf.read(SQLConf.get, relation.options).toOption
}

private[spark] object ZoneMapRelation {
  private val OtherFiles = Seq(
    SparkReadOptions.START_SNAPSHOT_ID,
    SparkReadOptions.END_SNAPSHOT_ID,
    SparkReadOptions.START_TIMESTAMP,
    SparkReadOptions.END_TIMESTAMP)

  /**
   * The target of a MERGE, UPDATE or DELETE that writes deletes, which Iceberg plans by itself, as a relation that we can
   * look up.
   *
   * Its operation reads the very snapshot that the table below it is pinned to.
   */
  def ofDeltaTarget(relation: DataSourceV2Relation): Option[ZoneMapRelation] =
    Option(RowLevelTables.mergeOnReadTarget(relation.table)).flatMap { target =>
      SwapRule.decide(target, relation.options) match {
        case SwapDecision.Swap(inner, settings) =>
          Some(ZoneMapRelation(relation, target, SwapRule.zoneMapTable(target, inner, settings)))
        case _ => None
      }
    }

  def unapply(plan: LogicalPlan): Option[ZoneMapRelation] =
    plan match {
      case relation @ DataSourceV2Relation(table: SparkTable, _, _, _, options, _)
          if !OtherFiles.exists(options.containsKey) =>
        table.table() match {
          case ours: ZoneMapTable => Some(ZoneMapRelation(relation, table, ours))
          case _                  => None
        }
      case _ => None
    }
}
