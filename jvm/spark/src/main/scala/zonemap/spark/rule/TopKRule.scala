// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.rule

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, JoinType, LeftOuter, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule

import zonemap.core.predicate.Predicate
import zonemap.core.value.{ValueText, ZoneValue}
import zonemap.iceberg.answer.TopK
import zonemap.iceberg.plan.IndexQuestions
import zonemap.spark.expression.{ExpressionSql, MonotoneSort}
import zonemap.spark.scan.{Guarded, SwappedScan, UnionBranch, ZoneMapRelation}

/**
 * Prunes files for operators that need only the first rows of their input, such as `ORDER BY x ... LIMIT k`
 * ([[NeededRows]]). If the index proves a bound `x >= T` (ascending: `x <= T`) that all of the first k rows satisfy, the
 * scan prunes the files without a row that satisfies it (SOUNDNESS, S93 and S200 to S204).
 *
 * Only the planning of files uses the bound; the rule adds no filter to the plan. Iceberg's readers evaluate filters
 * even on columns that a file lacks, so they must not get the bound (S11). The relation gets a [[ZoneMapTable]] with a
 * distinct name, so that Spark and Iceberg do not share its scan with other queries. See ADR 7 and ADR 45.
 */
private[zonemap] object TopKRule extends Rule[LogicalPlan] {

  /** The key of the bound's digest in the relation's options; no read option has this name. */
  val Marker = "zonemap.topk.digest"

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.transformWithSubqueries { case node @ (_: GlobalLimit | _: Filter | _: Aggregate) =>
      val bounded = Guarded.orNothing("pruning by a bound of its first rows") {
        NeededRows.of(node).flatMap(needed => below(needed).map(changed => (needed.input, changed)))
      }
      bounded.fold(node) { case (input, changed) => node.transformDown { case found if found eq input => changed } }
    }

  /** Returns the input with relations that have a bound. */
  private def below(needed: NeededRows): Option[LogicalPlan] =
    needed.input match {
      case SwappedScan(scan) => new FirstRowsScan(needed, scan).bounded(None)
      case project @ Project(list, child) if list.forall(_.deterministic) =>
        val key = ExpressionSql.below(needed.order.child, list)
        below(over(needed, child, key)).map(c => project.copy(child = c))
      case union: Union => ofUnion(needed, union)
      case join @ Join(left, right, joinType, condition, _) if condition.forall(_.deterministic) =>
        val key = needed.order.child
        if (keepsLeft(joinType) && isOf(key, left)) below(over(needed, left, key)).map(c => join.copy(left = c))
        else if (joinType == RightOuter && isOf(key, right))
          below(over(needed, right, key)).map(c => join.copy(right = c))
        else None
      case _ => None
    }

  private def over(needed: NeededRows, input: LogicalPlan, key: Expression): NeededRows =
    needed.copy(input = input, order = needed.order.copy(child = key, sameOrderExpressions = Nil))

  private def isOf(key: Expression, plan: LogicalPlan): Boolean =
    key.references.nonEmpty && key.references.subsetOf(plan.outputSet)

  /** True if each row of the left side is in the result at least once. */
  private def keepsLeft(joinType: JoinType): Boolean = joinType == LeftOuter || joinType.isInstanceOf[ExistenceJoin]

  /** Each branch has a bound of its own; branches that sort by a column of one type share the best one (S203). */
  private def ofUnion(needed: NeededRows, union: Union): Option[LogicalPlan] = {
    val branches = union.children.map(c => UnionBranch.of(union, c, needed.order.child).map(over(needed, c, _)))
    val scans = branches.map(_.collect { case ofBranch @ NeededRows(SwappedScan(scan), _, _) =>
      new FirstRowsScan(ofBranch, scan)
    })
    val shared = FirstRowsScan.best(scans.flatten)
    val changed = branches.zip(scans).map {
      case (_, Some(scan))        => scan.bounded(shared)
      case (Some(ofBranch), None) => below(ofBranch)
      case _                      => None
    }
    Option.when(changed.exists(_.isDefined)) {
      union.copy(children = changed.zip(union.children).map { case (found, child) => found.getOrElse(child) })
    }
  }

  /** A scan of which only the first rows are needed. */
  private final class FirstRowsScan(needed: NeededRows, scan: SwappedScan) {
    private val order = needed.order.copy(child = ExpressionSql.below(needed.order.child, scan.output))
    private val relation = scan.found

    private val function: Option[MonotoneSort] = order.child match {
      case _: AttributeReference => None
      case _                     => MonotoneSort.of(order, relation.columns)
    }

    /** The sort by a column or a function of one; `None` for other sorts, and if the rule is off for the relation. */
    private val request: Option[TopK] =
      if (!scan.isOpenTo(Marker, _.topK)) None
      else
        (order.child, function) match {
          case (column: AttributeReference, _) =>
            relation.relation.output
              .find(_.exprId == column.exprId)
              .flatMap(relation.columns.column)
              .map(TopK(_, order.direction == Descending, order.nullOrdering == NullsFirst, scan.keepsAll, needed.rows))
          case (_, Some(of)) =>
            Some(TopK(of.column, of.descending, of.nullsFirst, scan.keepsAll, needed.rows, function = function))
          case _ => None
        }

    /** The request if other relations may share its bound. */
    def sortedByColumn: Option[TopK] = request.filter(_.function.isEmpty)

    def value: Option[ZoneValue] = sortedByColumn.flatMap(IndexQuestions.topKValue(relation.table.pinned, _))

    /** Returns the plan of the scan with the bound; `None` if it prunes no file. */
    def bounded(known: Option[ZoneValue]): Option[LogicalPlan] =
      for {
        asked <- request
        topK = if (asked.function.isEmpty) asked.copy(known = known) else asked
        bound <- IndexQuestions.topK(relation.table.pinned, topK)
      } yield {
        val digest = ZoneMapRelation.digestOf(s"(top ${Predicate.canonical(bound.rows)})")
        val text = function.fold(describe(topK, bound.value))(_.describe(bound.value))
        val table = relation.table.withTopK(bound.rows, text, digest)
        scan.replaced(needed.input, relation.over(table, Marker, digest))
      }

    private def describe(topK: TopK, bound: ZoneValue): String = {
      val orNull = if (topK.nullsFirst && order.child.nullable) " or null" else ""
      s"${topK.column.name} ${if (topK.descending) ">=" else "<="} ${ValueText.of(topK.column.columnType, bound)}$orNull"
    }
  }

  private object FirstRowsScan {

    /** The best value that one of several relations proves, if all sort by a column of one type. */
    def best(scans: Seq[FirstRowsScan]): Option[ZoneValue] = {
      val requests = scans.flatMap(_.sortedByColumn)
      Option
        .when(requests.map(_.column.columnType).distinct.sizeIs == 1) {
          scans.flatMap(_.value).reduceOption((a, b) => if (requests.head.before(a, b)) a else b)
        }
        .flatten
    }
  }
}
