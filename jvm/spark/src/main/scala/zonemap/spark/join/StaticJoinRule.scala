// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions.{Attribute, Exists, Expression, InSubquery, ListQuery, PredicateHelper}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.slf4j.LoggerFactory

import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.{LogFields, MillisText}
import zonemap.spark.scan.{Guarded, ZoneMapRelation}

/**
 * Prunes files of one side of a join by the key values of the other side: the bounds of its files limit them to ranges,
 * and the rows of a small table name them.
 *
 * Inner joins, cross joins with a condition, and semi joins drop rows without a matching row on the other side; an outer
 * join drops such rows of its optional side. So the rule prunes files that hold none of these values. It changes a
 * relation only if this prunes files; otherwise Spark can still reuse the scan for other relations of the table. See
 * ADR 8 and ADR 48.
 */
private[zonemap] object StaticJoinRule extends Rule[LogicalPlan] with PredicateHelper {
  private val slf4j = LoggerFactory.getLogger("zonemap.planner")

  /** A chain of joins a -> b -> c needs a round for each step. A round that prunes no file is the last. */
  private val MaxRounds = 4

  /** A table with fewer files is read as quickly as the rows of the other side. */
  private val FilesForRows = 16

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
        val newLeft = if (dropsLeft(joinType)) narrow(left, right, keys) else left
        val newRight = if (dropsRight(joinType)) narrow(right, newLeft, keys.map(_.swapped)) else right
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
        narrow(filter, plan, pairs ++ JoinKey.of(conditions, filter, plan))
      case Exists(plan, _, _, conditions, _) if !sharesColumns(filter, plan) =>
        narrow(filter, plan, JoinKey.of(conditions, filter, plan))
      case _ => filter
    }

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

  /**
   * Returns `target` with relations that read only files that can hold values of each `key.right`, a column of
   * `source`.
   */
  private def narrow(target: LogicalPlan, source: LogicalPlan, keys: Seq[JoinKey]): LogicalPlan =
    keys.foldLeft(target) { (narrowed, key) =>
      columnOf(key).fold(narrowed) { column =>
        // a row of the source that meets no row of the target by another key adds no value
        def others = keys.filter(_ ne key).map(_.swapped).flatMap(other => columnOf(other).map(other -> _))
        def restricted = others.map { case (other, of) => other.left -> KeyValues.of(target, of, Nil) }
        narrowTo(narrowed, key.left, KeyValues.of(source, column, restricted))
      }
    }

  private def columnOf(key: JoinKey): Option[Attribute] =
    Some(key.right).collect { case Column(column) if JoinKey.shareOrder(column.dataType, key.left.dataType) => column }

  private def narrowTo(target: LogicalPlan, key: Expression, values: KeyValues): LogicalPlan =
    KeyTarget
      .changed(target, key, beside = narrowOther(values)) { (leaf, conditions, expression) =>
        for {
          relation <- ZoneMapRelation.unapply(leaf)
          conf <- relation.conf
          if conf.staticJoins
          found <- ScanKey.of(expression, relation.columns)
          started = System.nanoTime()
          before <- relation.files(conditions)
          ranges <-
            if (conf.smallTables && isWorthRows(before, found)) values.byRows else values.byBounds
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

  /**
   * Prunes the other side of a join by the rows of `side`, a small table, that have values of `key`: all other rows of
   * `side` add nothing to the result. The search enters only sides that the join never fills with nulls, so rows of the
   * other side matter only if they meet a row of `side`, in joins of each type.
   */
  private def narrowOther(values: KeyValues)(join: Join, side: LogicalPlan, key: Expression): Join = {
    val isLeft = side eq join.left
    val other = if (isLeft) join.right else join.left
    val narrowed = JoinKey.of(join.condition.toSeq, other, side).foldLeft(other) { (plan, own) =>
      columnOf(own).fold(plan)(column => narrowTo(plan, own.left, KeyValues.within(side, column, key, values)))
    }
    if (narrowed eq other) join else if (isLeft) join.copy(right = narrowed) else join.copy(left = narrowed)
  }

  /** True if values of the key probably prune so many files that rows of the other side are worth a read. */
  private def isWorthRows(files: FileSet, key: ScanKey): Boolean =
    files.count >= FilesForRows && KeyEstimate.mayPrune(files, key.column)
}
