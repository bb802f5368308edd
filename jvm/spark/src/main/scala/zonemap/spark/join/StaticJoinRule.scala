package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions.{Attribute, Exists, Expression, InSubquery, ListQuery, PredicateHelper}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.slf4j.LoggerFactory

import zonemap.core.predicate.{InRanges, Predicate}
import zonemap.spark.rule.Guarded

/**
 * Hands to the scans on one side of a join what the other side's files tell of the key, as ranges of the key's column.
 *
 * A row that meets no row of the other side is of no use to an inner or semi join, nor on the side of an outer join that
 * is filled up with nulls. So the files whose keys lie outside everything that the files of the other side hold are left
 * out. Nothing is changed unless that leaves out files, so that other scans of the table stay the same and are shared.
 * See ADR 8.
 */
private[spark] object StaticJoinRule extends Rule[LogicalPlan] with PredicateHelper {
  private val slf4j = LoggerFactory.getLogger("zonemap.planner")

  /** A chain of joins a -> b -> c needs a round for each step; each round leaves out files or is the last. */
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
          if (dropsLeft(joinType)) keys.foldLeft(left)((l, k) => narrow(l, k.left, right, k.right)) else left
        val newRight =
          if (dropsRight(joinType)) keys.foldLeft(right)((r, k) => narrow(r, k.right, newLeft, k.left)) else right
        if ((newLeft eq left) && (newRight eq right)) join else join.copy(left = newLeft, right = newRight)
      case filter @ Filter(condition, _) =>
        splitConjunctivePredicates(condition).foldLeft[LogicalPlan](filter)(narrowBySubquery)
    }

  /** Subqueries become semi joins only after scans have been planned. Theirs are optimized, and planned, by now. */
  private def narrowBySubquery(filter: LogicalPlan, conjunct: Expression): LogicalPlan =
    conjunct match {
      case InSubquery(values, ListQuery(plan, _, _, _, conditions, _)) if !sharesColumns(filter, plan) =>
        val pairs = values.zip(plan.output).collect {
          case (Column(a), b) if JoinKey.shareOrder(a.dataType, b.dataType) => JoinKey(a, b)
        }
        narrowBy(filter, pairs ++ JoinKey.of(conditions, filter, plan), plan)
      case Exists(plan, _, _, conditions, _) if !sharesColumns(filter, plan) =>
        narrowBy(filter, JoinKey.of(conditions, filter, plan), plan)
      case _ => filter
    }

  private def narrowBy(filter: LogicalPlan, keys: Seq[JoinKey], plan: LogicalPlan): LogicalPlan =
    keys.foldLeft(filter)((f, key) => narrow(f, key.left, plan, key.right))

  private def sharesColumns(left: LogicalPlan, right: LogicalPlan): Boolean =
    left.outputSet.intersect(right.outputSet).nonEmpty

  private def dropsLeft(joinType: JoinType): Boolean =
    joinType match {
      case Inner | LeftSemi | RightOuter => true
      case _                             => false
    }

  private def dropsRight(joinType: JoinType): Boolean =
    joinType match {
      case Inner | LeftSemi | LeftOuter => true
      case _                            => false
    }

  /** `target` with the relation of `column` reading only files that can hold values of `sourceColumn`. */
  private def narrow(
      target: LogicalPlan,
      column: Attribute,
      source: LogicalPlan,
      sourceColumn: Attribute): LogicalPlan =
    KeyTarget
      .changed(target, column) { (leaf, conditions, found) =>
        for {
          relation <- ZoneMapRelation.unapply(leaf)
          if relation.conf.exists(_.staticJoins)
          ref <- relation.column(found)
          values <- KeySource.valuesOf(source, sourceColumn)
          before <- relation.files(conditions)
          inKeys = InRanges(ref, values)
          after = before.keep(inKeys)
          if after.count < before.count
        } yield {
          val note = s"join pruning on ${ref.name}: ${before.count} -> ${after.count} files"
          slf4j.info(s"Zonemap: table=${relation.table.baseName} $note")
          relation.withExpressions(
            Predicate.and(Option(relation.table.expressions).toSeq :+ inKeys: _*),
            withNote(relation.table.notes(), note)
          )
        }
      }
      .getOrElse(target)

  private def withNote(notes: java.util.List[String], note: String): java.util.List[String] = {
    val all = new java.util.ArrayList[String](notes)
    all.add(note)
    all
  }
}
