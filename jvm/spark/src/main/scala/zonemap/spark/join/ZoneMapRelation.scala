package zonemap.spark.join

import org.apache.iceberg.Schema
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf

import zonemap.core.predicate.{ColumnRef, Predicate}
import zonemap.core.segment.Checksums
import zonemap.iceberg.plan.{FileSet, ZoneMapTable}
import zonemap.spark.conf.ZoneMapConf
import zonemap.spark.expression.{ColumnResolver, ExpressionTranslator}
import zonemap.spark.rule.{ReadOptions, SchemaColumns, SparkTables, SwapRule}

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
    val translator = new ExpressionTranslator(columns)
    val asked = conditions.flatMap(conjuncts).map(translator.whenTrue)
    table.pinned.liveFiles.map(_.keep(Predicate.and(asked :+ table.conditions: _*)))
  }

  /** The parts of a condition that the columns of the relation decide, the same for equal rows. */
  def conjuncts(condition: Expression): Seq[Expression] =
    ZoneMapRelation.conjuncts(condition).filter { part =>
      part.deterministic && !SubqueryExpression.hasSubquery(part) && part.references.subsetOf(relation.outputSet)
    }

  def conf: Option[ZoneMapConf] = ZoneMapConf.read(SQLConf.get, relation.options).toOption

  /** Whether a rule has left its mark among the options. */
  def isMarked(marker: String): Boolean = relation.options.containsKey(marker)

  /** The relation over another table in the place of ours, with a rule's mark. */
  def over(other: ZoneMapTable, marker: String, digest: String): DataSourceV2Relation =
    relation.copy(
      table = SparkTables.copyWithin(sparkTable, other),
      options = SwapRule.withOption(relation.options, marker, digest))

  /** The relation for a query that keeps only rows for which `predicate` is TRUE. */
  def withExpressions(predicate: Predicate, notes: java.util.List[String]): DataSourceV2Relation = {
    val digest = ZoneMapRelation.digestOf(Predicate.canonical(predicate))
    over(table.withExpressions(predicate, digest, notes), ZoneMapRelation.ExpressionsMarker, digest)
  }
}

private[spark] object ZoneMapRelation extends PredicateHelper {

  /** The key of the digest of a relation's expressions among its options. */
  val ExpressionsMarker = "zonemap.expressions"

  private val DigestBytes = 16

  /** Stands for a text in names and options. */
  def digestOf(text: String): String = Checksums.sha256(text, DigestBytes)

  private def conjuncts(condition: Expression): Seq[Expression] = splitConjunctivePredicates(condition)

  /** The one of `columns` that an output column is, as it is or by another name. */
  def sourceOf(
      column: Attribute,
      output: Seq[NamedExpression],
      columns: Seq[AttributeReference]): Option[AttributeReference] =
    output
      .find(_.exprId == column.exprId)
      .map {
        case Alias(child, _) => child
        case other           => other
      }
      .collect { case source: AttributeReference => source }
      .flatMap(source => columns.find(_.exprId == source.exprId))

  def unapply(plan: LogicalPlan): Option[ZoneMapRelation] =
    plan match {
      case relation @ DataSourceV2Relation(table: SparkTable, _, _, _, _, _) if isPinned(relation) =>
        table.table() match {
          case ours: ZoneMapTable => Some(ZoneMapRelation(relation, table, ours))
          case _                  => None
        }
      case _ => None
    }

  private[join] def isPinned(relation: DataSourceV2Relation): Boolean = ReadOptions.readPinnedFiles(relation.options)
}
