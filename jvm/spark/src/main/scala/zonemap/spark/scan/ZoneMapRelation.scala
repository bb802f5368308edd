// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.iceberg.Schema
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf

import zonemap.core.io.Checksums
import zonemap.core.predicate.{ColumnRef, Predicate}
import zonemap.iceberg.plan.ZoneMapTable
import zonemap.iceberg.prune.FileSet
import zonemap.spark.conf.ZoneMapConf
import zonemap.spark.expression.{ColumnResolver, ExpressionTranslator}

/**
 * A relation with a [[ZoneMapTable]] whose scans read exactly the files of one pinned snapshot.
 *
 * Every rule that looks up a relation in the index matches it by this class, both before and after its scan is planned.
 */
private[zonemap] final case class ZoneMapRelation(
    relation: DataSourceV2Relation,
    sparkTable: SparkTable,
    table: ZoneMapTable) {

  /** The schema that the relation was resolved with. */
  def schema: Schema = SparkTables.schema(sparkTable)

  /** Resolves Spark's columns of the relation to columns of the index. */
  def columns: ColumnResolver = new SchemaColumns(relation, schema)

  /** Returns the column of the index for an attribute of the relation. */
  def column(attribute: Attribute): Option[ColumnRef] = columns.column(attribute)

  /**
   * Returns at least the files with rows that the query needs and for which all `conditions` are TRUE; `None` if the
   * index does not cover the snapshot. The table's top-k bound is applied too: every operator that uses these rows is
   * above the sort and the limit that the bound comes from (S100).
   */
  def files(conditions: Seq[Expression]): Option[FileSet] =
    table.pinned.liveFiles.map(_.keep(Predicate.and(mayBeTrue(conditions), table.conditions)))

  /** Returns a predicate that is TRUE or unknown for each row for which all `conditions` are TRUE. */
  def mayBeTrue(conditions: Seq[Expression]): Predicate = {
    val translator = new ExpressionTranslator(columns)
    Predicate.and(conditions.flatMap(conjuncts).map(translator.whenTrue): _*)
  }

  /** Returns the deterministic conjuncts that refer only to columns of the relation and have no subquery. */
  def conjuncts(condition: Expression): Seq[Expression] =
    ZoneMapRelation.conjuncts(condition).filter { part =>
      part.deterministic && !SubqueryExpression.hasSubquery(part) && part.references.subsetOf(relation.outputSet)
    }

  def conf: Option[ZoneMapConf] = ZoneMapConf.read(SQLConf.get, relation.options).toOption

  /** True if the relation's options contain this marker of a rule. */
  def isMarked(marker: String): Boolean = relation.options.containsKey(marker)

  /** Returns a copy of the relation with the table `other` and with a rule's marker in its options. */
  def over(other: ZoneMapTable, marker: String, digest: String): DataSourceV2Relation =
    relation.copy(
      table = SparkTables.copyWithin(sparkTable, other),
      options = SwapRule.withOption(relation.options, marker, digest))

  /** Returns the relation for a query that retains only rows for which `predicate` is TRUE. */
  def withFunctions(predicate: Predicate): DataSourceV2Relation =
    withPredicate(predicate)(table.withFunctions(predicate, _))

  /** Returns the relation for a query whose joins retain only rows for which `predicate` is TRUE. */
  def withJoinKeys(predicate: Predicate, note: String): DataSourceV2Relation =
    withPredicate(predicate)(table.withJoinKeys(predicate, _, note))

  private def withPredicate(predicate: Predicate)(changed: String => ZoneMapTable): DataSourceV2Relation = {
    val digest = ZoneMapRelation.digestOf(Predicate.canonical(Predicate.and(table.expressions, predicate)))
    over(changed(digest), ZoneMapRelation.ExpressionsMarker, digest)
  }
}

private[zonemap] object ZoneMapRelation extends PredicateHelper {

  /** The key of the digest of a relation's expressions in its options. */
  val ExpressionsMarker = "zonemap.expressions"

  private val DigestBytes = 16

  /** A short digest that represents a text in names and options. */
  def digestOf(text: String): String = Checksums.sha256(text, DigestBytes)

  private def conjuncts(condition: Expression): Seq[Expression] = splitConjunctivePredicates(condition)

  /** Returns the one of `columns` that an output column copies, with or without an alias. */
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
      case IcebergRelation(relation, table) =>
        table.table() match {
          case ours: ZoneMapTable if isPinned(relation, table) => Some(ZoneMapRelation(relation, table, ours))
          case _                                               => None
        }
      case _ => None
    }

  /**
   * The relation of the target of a row-level command, if the index plans its scan. Only a rule that runs before the
   * scan is planned may use it, for conditions that the scan's own plan ignores where its columns have changed since
   * (S208).
   */
  def ofTarget(relation: DataSourceV2Relation): Option[ZoneMapRelation] =
    for {
      target <- sparkTableOf(relation)
      ours <- tableOfScan(relation)
    } yield ZoneMapRelation(relation, target, ours)

  /** The Iceberg table that a relation reads, as a query or as the target of a row-level command. */
  def sparkTableOf(relation: DataSourceV2Relation): Option[SparkTable] =
    relation.table match {
      case table: SparkTable => Some(table)
      case other             => Option(RowLevelTables.target(other))
    }

  /**
   * The table of a planned scan, which may be the target of a row-level command. Only the plan of the scan has its
   * files and columns: the table may have another snapshot and schema by now (S184). Rules that change what a scan
   * reads match relations of queries, by the pattern of this object.
   */
  def tableOfScan(relation: DataSourceV2Relation): Option[ZoneMapTable] =
    sparkTableOf(relation).map(_.table()).collect {
      case ours: ZoneMapTable if ReadOptions.readPinnedFiles(relation.options) => ours
    }

  /** True if each scan of the relation reads exactly the files of the snapshot that its table is pinned to. */
  private[zonemap] def isPinned(relation: DataSourceV2Relation, table: SparkTable): Boolean =
    ReadOptions.readPinnedFiles(relation.options) && SparkTables.isPinned(table, relation.options)

}
