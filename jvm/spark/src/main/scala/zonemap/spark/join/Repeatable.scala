package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, NewInstance}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

/**
 * Plans that give the same rows however often they are run within a query: rows that stand in the plan or in pinned
 * snapshots, projected and filtered by functions of Spark's own. SOUNDNESS, S72.
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

  /** Code that may be anything, whatever it says of itself; and plans within plans. */
  private def isForeign(expression: Expression): Boolean =
    expression match {
      case _: UserDefinedExpression | _: ApplyFunctionExpression | _: Invoke | _: NewInstance => true
      case _: PlanExpression[_]                                                               => true
      case _                                                                                  => false
    }
}
