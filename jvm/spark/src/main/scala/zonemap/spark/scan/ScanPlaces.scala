// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.spark.sql.catalyst.expressions.{Expression, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

private[zonemap] object ScanPlaces {

  /**
   * Returns a function that is true for scans that occur exactly once in the plan. A rule that changes a scan changes
   * it at each of its places, so a scan that another rule has copied cannot be changed for a single place.
   *
   * @param ignored expressions whose subqueries are not counted
   */
  def metOnce(plan: LogicalPlan, ignored: Expression => Boolean = _ => false): Scan => Boolean = {
    val places = new java.util.IdentityHashMap[Scan, Int]
    def visit(node: LogicalPlan): Unit =
      node.foreach { operator =>
        operator match {
          case relation: DataSourceV2ScanRelation =>
            places.merge(ForwardingScan.unwrapped(relation.scan), 1, (a, b) => a + b): Unit
          case _ => ()
        }
        operator.expressions.foreach(visitSubqueries)
      }
    def visitSubqueries(expression: Expression): Unit =
      if (!ignored(expression)) {
        expression match {
          case subquery: SubqueryExpression => visit(subquery.plan)
          case _                            => ()
        }
        expression.children.foreach(visitSubqueries)
      }
    visit(plan)
    scan => places.get(ForwardingScan.unwrapped(scan)) == 1
  }
}
