package zonemap.spark.join

import org.apache.iceberg.Schema
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf

import zonemap.core.predicate.{ColumnRef, Predicate}
import zonemap.iceberg.plan.{FileSet, ZoneMapTable}
import zonemap.spark.conf.ZoneMapConf
import zonemap.spark.expression.ColumnResolver
import zonemap.spark.rule.{ExpressionRule, ReadOptions, SchemaColumns, SparkTables, SwapDecision, SwapRule}

/**
 * A relation whose scans read the files of one pinned snapshot, no others, and are planned by us.
 *
 * Every rule that asks the index about a relation finds it here, before there is a scan and after.
 */
private[spark] final case class ZoneMapRelation(
    relation: DataSourceV2Relation,
    sparkTable: SparkTable,
    table: ZoneMapTable) {

  /** The schema that the relation was resolved with. */
  def schema: Schema = SparkTables.schema(sparkTable)

  /** The columns of the index, by what Spark calls them. */
  def columns: ColumnResolver = new SchemaColumns(relation, schema)

  /** The column of the index that an attribute is. */
  def column(attribute: Attribute): Option[ColumnRef] =
    attribute match {
      case reference: AttributeReference => columns.column(reference)
      case _                             => None
    }

  /**
   * At least the files that hold rows for which all `conditions` are TRUE and which the query needs; `None` when the snapshot
   * is not covered. A bound of first rows counts: whoever looks at the relation does so through the sort and the limit that
   * the bound comes from (S142).
   */
  def files(conditions: Seq[Expression]): Option[FileSet] = {
    val asked = conditions.map(ExpressionRule.translateAll(relation, schema, _))
    FileSet.live(table).map(_.keep(Predicate.and(asked :+ table.conditions: _*)))
  }

  def conf: Option[ZoneMapConf] = ZoneMapConf.read(SQLConf.get, relation.options).toOption

  /** Whether a rule has left its mark among the options. */
  def isMarked(marker: String): Boolean = relation.options.containsKey(marker)

  /** The relation over another table in the place of ours, with a rule's mark. */
  def over(other: ZoneMapTable, marker: String, digest: String): DataSourceV2Relation =
    relation.copy(
      table = SparkTables.copyWithin(sparkTable, other),
      options = SwapRule.withOption(relation.options, marker, digest))
}

private[spark] object ZoneMapRelation {

  /**
   * The target of a MERGE, UPDATE or DELETE that writes deletes, which Iceberg plans by itself, as a relation that we can
   * look up.
   *
   * Its operation reads the very snapshot that the table below it is pinned to.
   */
  def ofDeltaTarget(relation: DataSourceV2Relation, swap: SwapRule): Option[ZoneMapRelation] =
    Option(RowLevelTables.mergeOnReadTarget(relation.table)).filter(_ => isPinned(relation)).flatMap { target =>
      swap.decide(target, relation.options) match {
        case SwapDecision.Swap(inner, settings) =>
          Some(ZoneMapRelation(relation, target, swap.zoneMapTable(target, inner, settings)))
        case _ => None
      }
    }

  def unapply(plan: LogicalPlan): Option[ZoneMapRelation] =
    plan match {
      case relation @ DataSourceV2Relation(table: SparkTable, _, _, _, _, _) if isPinned(relation) =>
        table.table() match {
          case ours: ZoneMapTable => Some(ZoneMapRelation(relation, table, ours))
          case _                  => None
        }
      case _ => None
    }

  private def isPinned(relation: DataSourceV2Relation): Boolean = ReadOptions.readPinnedFiles(relation.options)
}
