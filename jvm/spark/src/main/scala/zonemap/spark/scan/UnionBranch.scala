// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Union}

/** Rewrites expressions of the output of a UNION ALL for its branches. */
private[zonemap] object UnionBranch {

  /** Returns an expression of a union's columns as an expression of the columns of one branch. */
  def of(union: Union, branch: LogicalPlan, expression: Expression): Option[Expression] = {
    val own = union.output.zip(branch.output).groupMap(_._1.exprId)(_._2)
    val isClear = expression.references.forall(column => own.get(column.exprId).exists(_.sizeIs == 1))
    Option.when(isClear)(expression.transform { case column: Attribute => own(column.exprId).head })
  }
}
