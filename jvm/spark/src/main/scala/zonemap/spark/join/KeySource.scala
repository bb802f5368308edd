// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

import zonemap.core.predicate.ValueRanges
import zonemap.iceberg.prune.FileSet
import zonemap.spark.expression.{CatalystValues, Encoded}
import zonemap.spark.scan.{IcebergScans, UnionBranch, ZoneMapRelation}

/**
 * Computes the values that a column of a plan can have, from the bounds of the files that the plan will read.
 *
 * The result contains all values of the column except nulls, which equal no value, and may contain more. The search
 * continues below operators that return rows unchanged, remove rows, or add nulls. SOUNDNESS, S111 to S114.
 */
private[join] object KeySource {
  val MaxRanges = 64
  private val MaxLocalRows = 10000

  /** Returns ranges in the encoding of the column's type; `None` if the values are unknown. */
  def valuesOf(plan: LogicalPlan, column: Attribute): Option[ValueRanges] =
    plan match {
      case ZoneMapRelation(found)                     => fromFiles(found, found.files(Nil), column)
      case Filter(condition, ZoneMapRelation(found))  => fromFiles(found, found.files(Seq(condition)), column)
      case scan: DataSourceV2ScanRelation             => planned(scan, column)
      case local: LocalRelation if !local.isStreaming => fromRows(local, column)
      case Project(list, child)                       => lineage(list, column).flatMap(valuesOf(child, _))
      // Spark refuses a column in the output that is not a grouping column
      case aggregate: Aggregate => lineage(aggregate.aggregateExpressions, column).flatMap(valuesOf(aggregate.child, _))
      case union: Union         => fromUnion(union, column)
      case Join(left, right, _, _, _) =>
        Seq(left, right).find(_.outputSet.contains(column)).flatMap(valuesOf(_, column))
      case unary @ (_: Filter | _: SubqueryAlias | _: GlobalLimit | _: LocalLimit | _: Offset | _: Tail | _: Sort |
          _: Window | _: Sample | _: Distinct | _: RepartitionOperation | _: ResolvedHint | _: Generate) =>
        unary.children.find(_.outputSet.contains(column)).flatMap(valuesOf(_, column))
      case _ => None
    }

  /** Returns the column below a projection from which `column` is copied unchanged. */
  def lineage(list: Seq[NamedExpression], column: Attribute): Option[Attribute] =
    list.find(_.exprId == column.exprId).flatMap {
      case Alias(Column(below), _) => Some(below)
      case attribute: Attribute    => Some(attribute)
      case _                       => None
    }

  private def fromFiles(relation: ZoneMapRelation, files: Option[FileSet], column: Attribute): Option[ValueRanges] =
    for {
      ref <- relation.column(column)
      known <- files
      values <- known.valuesOf(ref, MaxRanges)
    } yield values

  /** Handles scans that are already planned, such as the scans of optimized subqueries. */
  private def planned(scan: DataSourceV2ScanRelation, column: Attribute): Option[ValueRanges] =
    ZoneMapRelation.unapply(scan.relation).flatMap { relation =>
      val files = IcebergScans.planned(scan.scan).map(_.files).orElse(relation.table.pinned.liveFiles)
      fromFiles(relation, files, column)
    }

  private def fromRows(local: LocalRelation, column: Attribute): Option[ValueRanges] = {
    val ordinal = local.output.indexWhere(_.exprId == column.exprId)
    if (ordinal < 0 || local.data.sizeIs > MaxLocalRows || !CatalystValues.isOrdered(column.dataType)) None
    else {
      val values = local.data.map(row => CatalystValues.encode(column.dataType, row.get(ordinal, column.dataType)))
      Option.when(!values.contains(Encoded.NaN)) {
        val points = values.iterator.collect { case Encoded.Value(v) => ValueRanges.point(v) }
        ValueRanges.of(points.flatMap(_.iterator)).atMost(MaxRanges)
      }
    }
  }

  private def fromUnion(union: Union, column: Attribute): Option[ValueRanges] = {
    val branches = union.children.map { child =>
      UnionBranch.of(union, child, column).collect { case own: Attribute => own }.flatMap(valuesOf(child, _))
    }
    Option.when(branches.forall(_.isDefined))(branches.flatten.reduce(_ union _).atMost(MaxRanges))
  }
}
