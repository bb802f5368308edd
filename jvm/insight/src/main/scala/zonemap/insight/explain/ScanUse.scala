// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import java.util.IdentityHashMap

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

import zonemap.iceberg.report.OperatorReason
import zonemap.spark.expression.ExpressionSql

/**
 * How a query uses one of its scans: the conditions of its filters, and the nearest operators above it that could prune
 * its files. All expressions are of the scan's columns, as far as projections below the operator define them.
 *
 * @param firstRows the number of rows of the LIMIT above `sort`
 */
private[zonemap] final case class ScanUse(
    scan: DataSourceV2ScanRelation,
    conditions: Seq[Expression],
    sort: Option[Placed[SortOrder]] = None,
    limit: Option[Placed[Long]] = None,
    joins: Seq[JoinedSide] = Nil,
    aggregate: Option[Placed[Unit]] = None,
    firstRows: Option[Long] = None)

/**
 * An operator above a scan.
 *
 * @param between an operator other than filters and projections that is between it and the scan
 */
private[zonemap] final case class Placed[+A](of: A, between: Option[String] = None) {
  def behind(operator: String): Placed[A] = copy(between = Some(operator))
}

/**
 * One side of a join.
 *
 * @param prunable true if the join drops rows of this side that match no row
 * @param keys the expressions of this side that must equal one of the other side
 * @param isReturned false if the join returns no row of this side
 */
private[zonemap] final case class JoinedSide(
    text: String,
    prunable: Boolean,
    keys: Seq[Expression],
    isReturned: Boolean = true) {

  /** Why the join prunes no file of this side, if it is not prunable. */
  def reason: OperatorReason = if (isReturned) OperatorReason.JoinType(text) else OperatorReason.JoinTested(text)
}

private[zonemap] object ScanUse {

  /** Returns the use of each scan in optimized plans; of several uses of one scan, the first. O(operators). */
  def of(plans: Seq[LogicalPlan]): Scan => Option[ScanUse] = {
    val walk = new Walk
    plans.foreach(walk.visit(_, Above()))
    scan => Option(walk.found.get(scan))
  }

  /** The operators above a node. */
  private final case class Above(
      conditions: Seq[Expression] = Nil,
      sort: Option[Placed[SortOrder]] = None,
      limit: Option[Placed[Long]] = None,
      joins: Seq[JoinedSide] = Nil,
      aggregate: Option[Placed[Unit]] = None,
      firstRows: Option[Long] = None) {

    /** These operators, seen from below a node that computes columns. */
    def below(defined: Seq[(Attribute, Expression)]): Above = {
      def over(expression: Expression) = ExpressionSql.below(expression, defined)
      if (defined.isEmpty) this
      else
        copy(
          conditions = conditions.map(over),
          sort = sort.map(s => s.copy(of = s.of.copy(child = over(s.of.child)))),
          joins = joins.map(j => j.copy(keys = j.keys.map(over))))
    }

    /** These operators, seen from below an operator through which no condition and no limit is pruned by. */
    def behind(operator: String): Above =
      copy(
        conditions = Nil,
        sort = sort.map(_.behind(operator)),
        limit = limit.map(_.behind(operator)),
        aggregate = aggregate.map(_.behind(operator)))
  }

  private final class Walk extends PredicateHelper {
    val found = new IdentityHashMap[Scan, ScanUse]
    private val seen = new IdentityHashMap[LogicalPlan, Unit]

    def visit(plan: LogicalPlan, above: Above): Unit =
      if (!seen.containsKey(plan)) {
        seen.put(plan, ())
        plan match {
          case scan: DataSourceV2ScanRelation =>
            val use =
              ScanUse(scan, above.conditions, above.sort, above.limit, above.joins, above.aggregate, above.firstRows)
            found.putIfAbsent(scan.scan, use): Unit
          case Join(left, right, joinType, condition, _) => visitJoin(left, right, joinType, condition, above)
          case union: Union                              => union.children.foreach(visitBranch(union, _, above))
          case unary: UnaryNode                          => visit(unary.child, belowUnary(unary, above))
          case other                                     => other.children.foreach(visit(_, above.behind(named(other))))
        }
        plan.expressions.foreach(visitSubqueries)
      }

    /** First rows of a union are first rows of its branches. */
    private def visitBranch(union: Union, branch: LogicalPlan, above: Above): Unit = {
      val ofBranch = above.below(union.output.zip(branch.output))
      visit(branch, above.behind(named(union)).copy(sort = ofBranch.sort))
    }

    private def belowUnary(node: UnaryNode, above: Above): Above =
      node match {
        case Filter(condition, _) => above.copy(conditions = splitConjunctivePredicates(condition) ++ above.conditions)
        case Project(list, _) =>
          above.below(list.collect { case alias: Alias => alias.toAttribute -> alias.child })
        case python: BaseEvalPython =>
          val inner = above.below(python.resultAttrs.zip(python.udfs))
          inner.behind("a Python function").copy(conditions = inner.conditions)
        case GlobalLimit(IntegerLiteral(rows), _) =>
          above.behind("a LIMIT").copy(sort = None, limit = Some(Placed(rows.toLong)))
        case LocalLimit(IntegerLiteral(rows), _) if above.limit.forall(_.between.isDefined) =>
          above.behind("a LIMIT").copy(sort = None, limit = Some(Placed(rows.toLong)))
        case sort: Sort if sort.global && sort.order.nonEmpty && above.limit.exists(_.between.isEmpty) =>
          above.copy(sort = Some(Placed(sort.order.head)), limit = None, firstRows = above.limit.map(_.of))
        case _: LocalLimit | _: Sort | _: SubqueryAlias | _: ResolvedHint | _: Offset => above
        case _: Aggregate => above.behind("an aggregate").copy(aggregate = Some(Placed(())))
        case other        => above.behind(named(other))
      }

    private def visitJoin(
        left: LogicalPlan,
        right: LogicalPlan,
        joinType: JoinType,
        condition: Option[Expression],
        above: Above): Unit = {
      val equal =
        condition.toSeq.flatMap(splitConjunctivePredicates).collect { case EqualTo(a, b) => Seq(a, b) }.flatten
      def side(plan: LogicalPlan, prunable: Boolean, isReturned: Boolean = true): Above = {
        val keys = equal.filter(key => key.references.nonEmpty && key.references.subsetOf(plan.outputSet))
        val joined = JoinedSide(s"a join of type ${named(joinType)}", prunable, keys, isReturned)
        val behind = above.behind("a join")
        // each row of the kept side is in the result, so first rows by its columns are among its own
        val isKept = (plan eq left) && joinType == LeftOuter || (plan eq right) && joinType == RightOuter
        val sort = if (isKept) above.sort.filter(_.of.references.subsetOf(plan.outputSet)) else None
        behind.copy(joins = joined +: behind.joins, sort = sort.orElse(behind.sort))
      }
      visit(left, side(left, Seq(Inner, Cross, LeftSemi, RightOuter).contains(joinType)))
      val isTested = joinType == LeftAnti || joinType.isInstanceOf[ExistenceJoin]
      visit(right, side(right, Seq(Inner, Cross, LeftSemi, LeftOuter).contains(joinType), !isTested))
    }

    /** The plans of dynamic pruning are copies of sides of joins, which are visited where they are joined. */
    private def visitSubqueries(expression: Expression): Unit =
      expression match {
        case _: DynamicPruning => ()
        case subquery: SubqueryExpression =>
          visit(subquery.plan, Above())
          subquery.children.foreach(visitSubqueries)
        case other => other.children.foreach(visitSubqueries)
      }

    /** Spark's name of a join that it makes of EXISTS in another condition is not SQL, so it is not printed. */
    private def named(joinType: JoinType): String =
      joinType match {
        case _: ExistenceJoin => "EXISTENCE"
        case other            => other.sql
      }

    private def named(node: LogicalPlan): String = s"the operator ${node.nodeName}"
  }
}
