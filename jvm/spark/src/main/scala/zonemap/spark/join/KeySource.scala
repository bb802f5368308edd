// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.types.DataType

import zonemap.core.predicate.ValueRanges
import zonemap.iceberg.prune.FileSet
import zonemap.spark.expression.{CatalystValues, Encoded, ExpressionSql, NestedTypes}
import zonemap.spark.scan.{IcebergScans, UnionBranch, ZoneMapRelation}

/**
 * Computes the values that a column of a plan can have, from the files that the plan will read or from rows of small
 * tables.
 *
 * The result contains all values of the column except nulls, which equal no value, and may contain more. The search
 * continues below operators that return rows unchanged, remove rows, or add nulls, and takes conditions along.
 * SOUNDNESS, S111 to S114 and S167.
 *
 * @param leaf the values of a column in the rows of a relation, some of the relation's files, for which conditions are
 *   TRUE; None if they are unknown
 */
private[join] final class KeySource private (
    leaf: (ZoneMapRelation, Seq[Expression] => Option[FileSet], Attribute, Seq[Expression]) => Option[ValueRanges]) {
  import KeySource._

  /**
   * Returns ranges in the encoding of the column's type; `None` if the values are unknown.
   *
   * @param conditions only values in rows of the plan for which these are TRUE are wanted
   */
  def valuesOf(plan: LogicalPlan, column: Attribute, conditions: Seq[Expression] = Nil): Option[ValueRanges] =
    plan match {
      case ZoneMapRelation(found)                     => leaf(found, found.files, column, conditions)
      case scan: DataSourceV2ScanRelation             => planned(scan, column, conditions)
      case local: LocalRelation if !local.isStreaming => fromRows(local, column)
      case Filter(condition, child)                   => valuesOf(child, column, condition +: conditions)
      case Project(list, child) =>
        lineage(list, column).flatMap(valuesOf(child, _, below(conditions, list)))
      // Spark refuses a column in the output that is not a grouping column
      case aggregate: Aggregate =>
        val list = aggregate.aggregateExpressions
        lineage(list, column).flatMap(valuesOf(aggregate.child, _, below(conditions, list).filterNot(isOfFloating)))
      case distinct: Distinct => valuesOf(distinct.child, column, conditions.filterNot(isOfFloating))
      case union: Union       => fromUnion(union, column, conditions)
      case Join(left, right, _, _, _) =>
        Seq(left, right).find(_.outputSet.contains(column)).flatMap(valuesOf(_, column, conditions))
      case unary @ (_: SubqueryAlias | _: GlobalLimit | _: LocalLimit | _: Offset | _: Tail | _: Sort | _: Window |
          _: Sample | _: RepartitionOperation | _: ResolvedHint | _: Generate) =>
        unary.children.find(_.outputSet.contains(column)).flatMap(valuesOf(_, column, conditions))
      case _ => None
    }

  /** Handles scans that are already planned, such as the scans of optimized subqueries. */
  private def planned(
      scan: DataSourceV2ScanRelation,
      column: Attribute,
      conditions: Seq[Expression]): Option[ValueRanges] =
    ZoneMapRelation.unapply(scan.relation).flatMap { relation =>
      def files = IcebergScans.planned(scan.scan).map(_.files).orElse(relation.table.pinned.liveFiles)
      leaf(relation, _ => files, column, conditions)
    }

  private def fromUnion(union: Union, column: Attribute, conditions: Seq[Expression]): Option[ValueRanges] = {
    val branches = union.children.map { child =>
      val own = conditions.flatMap(UnionBranch.of(union, child, _))
      UnionBranch.of(union, child, column).collect { case c: Attribute => c }.flatMap(valuesOf(child, _, own))
    }
    Option.when(branches.forall(_.isDefined))(branches.flatten.reduce(_ union _).atMost(MaxRangesOfRows))
  }
}

private[join] object KeySource {
  val MaxRanges = 64

  /** The Novembers of a calendar of 200 years are so many ranges, and each gap that is closed can be a year. */
  val MaxRangesOfRows = 1024
  private val MaxLocalRows = 10000

  /** Takes the values from the bounds of files. */
  val ofFiles: KeySource =
    new KeySource((relation, files, column, conditions) => fromFiles(relation, files(conditions), column))

  /** Takes the values from the rows of small tables; from no other table. */
  val ofSmallTables: KeySource =
    new KeySource((relation, _, column, conditions) => SmallValues.of(relation, column, conditions))

  /** Takes the values that both the bounds of files and the rows of small tables allow. */
  val ofRows: KeySource = new KeySource((relation, files, column, conditions) => {
    val byBounds = fromFiles(relation, files(conditions), column)
    val byRows = if (byBounds.exists(_.isEmpty)) None else SmallValues.of(relation, column, conditions)
    byRows.fold(byBounds)(rows => Some(byBounds.fold(rows)(_.intersect(rows))))
  })

  /** Returns the column below a projection from which `column` is copied unchanged. */
  def lineage(list: Seq[NamedExpression], column: Attribute): Option[Attribute] =
    list.find(_.exprId == column.exprId).flatMap {
      case Alias(Column(below), _) => Some(below)
      case attribute: Attribute    => Some(attribute)
      case _                       => None
    }

  /** The conditions on the columns below a projection or an aggregate, without those that only it can evaluate. */
  private def below(conditions: Seq[Expression], list: Seq[NamedExpression]): Seq[Expression] =
    conditions.map(ExpressionSql.below(_, list)).filter(Repeatable.isRepeatable)

  /** Spark groups -0.0 as 0.0, so below an aggregate a function can have another result. */
  private def isOfFloating(condition: Expression): Boolean =
    condition.references.exists(column => NestedTypes.contains(column.dataType)(CatalystValues.mayHoldNaN))

  private def fromFiles(relation: ZoneMapRelation, files: Option[FileSet], column: Attribute): Option[ValueRanges] =
    for {
      ref <- relation.column(column)
      known <- files
      values <- known.valuesOf(ref, MaxRanges)
    } yield values

  private def fromRows(local: LocalRelation, column: Attribute): Option[ValueRanges] = {
    val ordinal = local.output.indexWhere(_.exprId == column.exprId)
    if (ordinal < 0 || local.data.sizeIs > MaxLocalRows || !CatalystValues.isOrdered(column.dataType)) None
    else ofValues(local.data.iterator.map(_.get(ordinal, column.dataType)), column.dataType, MaxRanges)
  }

  /** Returns ranges with all values except nulls; None if a value is NaN, which is in no range. */
  def ofValues(values: Iterator[Any], dataType: DataType, limit: Int): Option[ValueRanges] = {
    val distinct = new java.util.HashSet[Any]
    values.foreach(distinct.add)
    val encoded = distinct.asScala.iterator.map(CatalystValues.encode(dataType, _)).toSeq
    Option.when(!encoded.contains(Encoded.NaN)) {
      val points = encoded.iterator.collect { case Encoded.Value(v) => ValueRanges.point(v) }
      ValueRanges.of(points.flatMap(_.iterator)).atMost(limit)
    }
  }
}
