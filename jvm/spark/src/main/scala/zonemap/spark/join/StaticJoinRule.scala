// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions.{Exists, Expression, InSubquery, ListQuery, PredicateHelper}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.slf4j.LoggerFactory

import zonemap.iceberg.report.{LogFields, MillisText}
import zonemap.spark.scan.{Guarded, ZoneMapRelation}

/**
 * Prunes files of one side of a join by the key values of the other side's files, which the bounds of these files limit
 * to ranges.
 *
 * Inner joins, cross joins with a condition, and semi joins drop rows without a matching row on the other side; an outer join drops such rows of its
 * optional side. So the rule prunes files whose keys lie outside the ranges of the other side. It changes a relation
 * only if this prunes files; otherwise Spark can still reuse the scan for other relations of the table. See ADR 8.
 */
private[zonemap] object StaticJoinRule extends Rule[LogicalPlan] with PredicateHelper {
  private val slf4j = LoggerFactory.getLogger("zonemap.planner")

  /** A chain of joins a -> b -> c needs a round for each step. A round that prunes no file is the last. */
  private val MaxRounds = 4

  override def apply(plan: LogicalPlan): LogicalPlan =
    Guarded.orNothing("pruning by the keys of its joins")(Some(rounds(plan, MaxRounds))).getOrElse(plan)

  private def rounds(plan: LogicalPlan, left: Int): LogicalPlan = {
    val next = round(plan)
    if ((next eq plan) || left == 1) next else rounds(next, left - 1)
  }

  private def round(plan: LogicalPlan): LogicalPlan =
    plan.transformUp {
      case join @ Join(left, right, joinType, Some(condition), _) =>
        val keys = JoinKey.of(Seq(condition), left, right)
        val newLeft =
          if (dropsLeft(joinType)) keys.foldLeft(left)(narrow(_, right, _)) else left
        val newRight =
          if (dropsRight(joinType)) keys.foldLeft(right)((r, k) => narrow(r, newLeft, k.swapped)) else right
        if ((newLeft eq left) && (newRight eq right)) join else join.copy(left = newLeft, right = newRight)
      case filter @ Filter(condition, _) =>
        splitConjunctivePredicates(condition).foldLeft[LogicalPlan](filter)(narrowBySubquery)
    }

  /**
   * Prunes files of a filter's child by the keys of an IN or EXISTS subquery. Spark converts such subqueries to semi
   * joins only after it has planned scans. The subquery itself is already optimized, and its scans are planned.
   */
  private def narrowBySubquery(filter: LogicalPlan, conjunct: Expression): LogicalPlan =
    conjunct match {
      case InSubquery(values, ListQuery(plan, _, _, _, conditions, _)) if !sharesColumns(filter, plan) =>
        val pairs = values.zip(plan.output).map { case (value, column) => JoinKey(value, column) }
        narrowBy(filter, pairs ++ JoinKey.of(conditions, filter, plan), plan)
      case Exists(plan, _, _, conditions, _) if !sharesColumns(filter, plan) =>
        narrowBy(filter, JoinKey.of(conditions, filter, plan), plan)
      case _ => filter
    }

  private def narrowBy(filter: LogicalPlan, keys: Seq[JoinKey], plan: LogicalPlan): LogicalPlan =
    keys.foldLeft(filter)(narrow(_, plan, _))

  private def sharesColumns(left: LogicalPlan, right: LogicalPlan): Boolean =
    left.outputSet.intersect(right.outputSet).nonEmpty

  private def dropsLeft(joinType: JoinType): Boolean =
    joinType match {
      case Inner | Cross | LeftSemi | RightOuter => true
      case _                                     => false
    }

  private def dropsRight(joinType: JoinType): Boolean =
    joinType match {
      case Inner | Cross | LeftSemi | LeftOuter => true
      case _                                    => false
    }

  /** Returns `target` with relations that read only files that can hold values of `key.right`, a column of `source`. */
  private def narrow(target: LogicalPlan, source: LogicalPlan, key: JoinKey): LogicalPlan =
    key.right match {
      case Column(column) if JoinKey.shareOrder(column.dataType, key.left.dataType) =>
        lazy val values = KeySource.valuesOf(source, column)
        KeyTarget
          .changed(target, key.left) { (leaf, conditions, expression) =>
            for {
              relation <- ZoneMapRelation.unapply(leaf)
              if relation.conf.exists(_.staticJoins)
              found <- ScanKey.of(expression, relation.columns)
              started = System.nanoTime()
              ranges <- values
              before <- relation.files(conditions)
              inKeys = found.within(ranges, nan = false)
              after = before.keep(inKeys)
              if after.count < before.count
            } yield {
              val fields = Seq[(String, Any)](
                "table" -> relation.table.baseName,
                "join_ranges" -> found.name,
                "files_before" -> before.count,
                "files_after" -> after.count,
                "ms" -> MillisText.of((System.nanoTime() - started) / 1e6)
              )
              slf4j.info(s"Zonemap: ${LogFields.of(fields)}")
              relation.withJoinKeys(inKeys, s"join pruning on ${found.name}: ${before.count} -> ${after.count} files")
            }
          }
          .getOrElse(target)
      case _ => target
    }
}
