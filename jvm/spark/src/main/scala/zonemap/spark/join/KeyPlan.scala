// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions.{Alias, And, Expression}
import org.apache.spark.sql.catalyst.plans.logical._

import zonemap.spark.expression.{ExpressionSql, NestedTypes}
import zonemap.spark.expression.CatalystValues.mayHoldNaN
import zonemap.spark.scan.UnionBranch

/**
 * Derives, from the source of a MERGE, a plan that returns at least the source's keys, at each evaluation.
 *
 * A second run of the source may return other rows, because an aggregate or a window chooses among equal rows. Its keys
 * are a subset of the values that a column has below these operators, and those are known from the plan: rows of pinned
 * snapshots and literals under Spark's own deterministic functions. So the derived plan leaves out each operator that
 * only removes rows or adds other columns, and retains the conditions that are repeatable. SOUNDNESS, S122 and S180.
 */
private[join] object KeyPlan {

  /** Returns a plan of one column; `None` if a key may come from rows that are not known to be the same each time. */
  def of(source: LogicalPlan, key: Expression): Option[LogicalPlan] = below(source, key, Nil)

  /** @param conditions hold for each row whose key is wanted, in the order of evaluation */
  private def below(node: LogicalPlan, key: Expression, conditions: Seq[Expression]): Option[LogicalPlan] =
    node match {
      case Filter(condition, child) if Repeatable.isRepeatable(condition) =>
        passed(child, key, condition +: conditions)
      case Filter(_, child)     => removed(child, key)
      case Project(list, child) => through(list, child, key, conditions)
      // Spark groups -0.0 as 0.0, so below an aggregate a function may get the other zero
      case grouped: Aggregate
          if (key +: conditions)
            .map(ExpressionSql.below(_, grouped.aggregateExpressions))
            .exists(isFunctionOfFloating) =>
        removed(grouped.child, ExpressionSql.below(key, grouped.aggregateExpressions))
      // Spark refuses a column in the output that is not a grouping column
      case grouped: Aggregate => through(grouped.aggregateExpressions, grouped.child, key, conditions)
      case unary @ (_: SubqueryAlias | _: View | _: Sort | _: Distinct | _: RepartitionOperation | _: ResolvedHint |
          _: Window) =>
        passed(unary.children.head, key, conditions)
      case unary @ (_: WindowGroupLimit | _: GlobalLimit | _: LocalLimit | _: Offset | _: Sample | _: Generate) =>
        removed(unary.children.head, key)
      case Join(left, right, _, _, _) =>
        Seq(left, right).find(side => key.references.subsetOf(side.outputSet)).flatMap(removed(_, key))
      case union: Union => ofUnion(union, key, conditions)
      case leaf if Repeatable.isLeaf(leaf) && Repeatable.isRepeatable(key) =>
        val rows = conditions.reduceOption(And(_, _)).fold(leaf)(Filter(_, leaf))
        Some(Project(Seq(Alias(key, "key")()), rows))
      case _ => None
    }

  private def through(
      list: Seq[Expression],
      child: LogicalPlan,
      key: Expression,
      conditions: Seq[Expression]): Option[LogicalPlan] = {
    val aliases = list.collect { case alias: Alias => alias }
    passed(child, ExpressionSql.below(key, aliases), conditions.map(ExpressionSql.below(_, aliases)))
  }

  /** Continues below an operator that passes rows on. Conditions that only it can evaluate are left out with it. */
  private def passed(child: LogicalPlan, key: Expression, conditions: Seq[Expression]): Option[LogicalPlan] =
    if (conditions.forall(isOf(_, child))) Some(key).filter(isOf(_, child)).flatMap(below(child, _, conditions))
    else removed(child, key)

  /**
   * Continues below an operator that removes rows, without it and without the conditions above it. These conditions and
   * functions of the key may fail for a removed row, so the key must be a column here.
   */
  private def removed(child: LogicalPlan, key: Expression): Option[LogicalPlan] =
    key match {
      case Column(_) if isOf(key, child) => below(child, key, Nil)
      case _                             => None
    }

  private def ofUnion(union: Union, key: Expression, conditions: Seq[Expression]): Option[LogicalPlan] = {
    val branches = union.children.map { child =>
      for {
        own <- UnionBranch.of(union, child, key)
        conditionsOfBranch = conditions.flatMap(UnionBranch.of(union, child, _))
        if conditionsOfBranch.sizeIs == conditions.size
        plan <- passed(child, own, conditionsOfBranch)
      } yield plan
    }
    Option.when(branches.forall(_.isDefined))(Union(branches.flatten))
  }

  private def isFunctionOfFloating(expression: Expression): Boolean =
    expression match {
      case Column(_) => false
      case other     => other.references.exists(column => NestedTypes.contains(column.dataType)(mayHoldNaN))
    }

  private def isOf(expression: Expression, plan: LogicalPlan): Boolean =
    expression.references.nonEmpty && expression.references.subsetOf(plan.outputSet) &&
      Repeatable.isRepeatable(expression)
}
