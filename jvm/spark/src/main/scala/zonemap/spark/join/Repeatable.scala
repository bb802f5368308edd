// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, NewInstance}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation}

import zonemap.spark.scan.{IcebergScans, ZoneMapRelation}

/**
 * True for plans that return the same rows at each evaluation within a query: their rows are literals of the plan or
 * come from pinned snapshots, and only Spark's own deterministic functions project and filter them. Spark evaluates the
 * plan of a cache again if it has lost a block, so a cache is repeatable if its plan is. SOUNDNESS, S122.
 */
private[join] object Repeatable {

  def apply(plan: LogicalPlan): Boolean = !plan.isStreaming && over(plan)(isLeaf)

  /** True for a plan whose leaves satisfy `ofLeaf`, and whose rows only Spark's own functions project and filter. */
  def over(plan: LogicalPlan)(ofLeaf: LeafNode => Boolean): Boolean =
    !plan.exists { node =>
      val known = node match {
        case leaf: LeafNode                                       => ofLeaf(leaf)
        case _: Project | _: Filter | _: Union | _: SubqueryAlias => true
        case _                                                    => false
      }
      !known || !node.expressions.forall(isRepeatable)
    }

  /** True for a plan without children that returns the same rows each time. */
  def isLeaf(plan: LogicalPlan): Boolean =
    !plan.isStreaming && (plan match {
      // the keys of a join change a scan while the query runs
      case DataSourceV2ScanRelation(_, _: KeyFilteredScan, _, _, _) => false
      case scan: DataSourceV2ScanRelation                           => ZoneMapRelation.unapply(scan.relation).isDefined
      case cached: InMemoryRelation                                 => isFixed(cached.cacheBuilder.cachedPlan)
      case _: LocalRelation | _: Range | _: OneRowRelation          => true
      case _                                                        => false
    })

  /** True for a planned cache whose scans have fixed tasks: Spark evaluates this very plan again for a lost block. */
  private def isFixed(plan: SparkPlan): Boolean =
    !plan.exists { node =>
      val known = node match {
        case BatchScanExec(_, _: KeyFilteredScan, _, _, _, _)                  => false
        case BatchScanExec(_, scan, _, _, _, _)                                => IcebergScans.planned(scan).isDefined
        case _: LocalTableScanExec | _: RangeExec                              => true
        case _: ProjectExec | _: FilterExec | _: UnionExec                     => true
        case _: WholeStageCodegenExec | _: InputAdapter | _: ColumnarToRowExec => true
        case _                                                                 => false
      }
      !known || !node.expressions.forall(isRepeatable)
    }

  /** True for an expression of columns that Spark's own deterministic functions evaluate row by row. */
  def isRepeatable(expression: Expression): Boolean = expression.deterministic && !expression.exists(isForeign)

  /** True for code of users, which may be wrong about its own determinism, subqueries, and functions of many rows. */
  private def isForeign(expression: Expression): Boolean =
    expression match {
      case _: UserDefinedExpression | _: ApplyFunctionExpression | _: Invoke | _: NewInstance => true
      case _: PlanExpression[_]                                                               => true
      case _: AggregateExpression | _: WindowExpression                                       => true
      case _                                                                                  => false
    }
}
