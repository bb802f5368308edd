// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, NewInstance}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import zonemap.spark.scan.ZoneMapRelation

/**
 * True for plans that return the same rows at each evaluation within a query: their rows are literals of the plan or
 * come from pinned snapshots, and only Spark's own deterministic functions project and filter them. SOUNDNESS, S122.
 */
private[join] object Repeatable {

  def apply(plan: LogicalPlan): Boolean =
    !plan.isStreaming && !plan.exists { node =>
      val known = node match {
        case scan: DataSourceV2ScanRelation                       => ZoneMapRelation.unapply(scan.relation).isDefined
        case _: LocalRelation | _: Range | _: OneRowRelation      => true
        case _: Project | _: Filter | _: Union | _: SubqueryAlias => true
        case _                                                    => false
      }
      !known || node.expressions.exists(e => !e.deterministic || e.exists(isForeign))
    }

  /** True for user code, which may be wrong about its own determinism, and for subqueries. */
  private def isForeign(expression: Expression): Boolean =
    expression match {
      case _: UserDefinedExpression | _: ApplyFunctionExpression | _: Invoke | _: NewInstance => true
      case _: PlanExpression[_]                                                               => true
      case _                                                                                  => false
    }
}
