// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import scala.util.control.NonFatal

import org.apache.iceberg.expressions.{And => IcebergAnd, Expression => IcebergExpression, Expressions}
import org.apache.iceberg.spark.SparkV2Filters
import org.apache.spark.sql.catalyst.expressions.{BloomFilterMightContain, DynamicPruning, Expression}
import org.apache.spark.sql.internal.SQLConf

import zonemap.core.predicate._
import zonemap.iceberg.convert.ExpressionConverter
import zonemap.iceberg.plan.IndexQuestions
import zonemap.insight.reason.{ConditionReason, ConditionReasons}
import zonemap.spark.expression.{ExpressionSql, ExpressionTranslator}
import zonemap.spark.rule.ExpressionRule
import zonemap.spark.scan.{SchemaColumns, SparkMinor, ZoneMapRelation}

/**
 * Lists the conditions of a scan's filter: how each one prunes files, or the reason why it does not.
 *
 * It translates each condition once and reads no byte of a store.
 *
 * @param filter the filter that Spark pushed to Iceberg's scan; `None` if the index answered the query before that, so
 *   that each condition counts as pushed
 * @param isOfFiles whether some planned file may have the fact with this name
 */
private[zonemap] final class ConditionLines(
    relation: ZoneMapRelation,
    filter: Option[IcebergExpression],
    isOfFiles: String => Boolean) {
  import ConditionLines._

  private val pushed: Seq[IcebergExpression] = filter.toSeq.flatMap(parts)

  private val pushedTexts: Set[String] = pushed.map(_.toString).toSet

  private val evaluated: Seq[Evaluated] = evaluatedOf(relation.table.expressions)

  private val columns =
    new SchemaColumns(
      relation.relation,
      relation.schema,
      IndexQuestions.factsOf(relation.table.pinned, _),
      found => evaluated.contains(found))

  private val means = new ConditionMeans(relation.table.pinned, isOfFiles)

  def of(conditions: Seq[Expression]): Seq[ConditionUse] = {
    val listed = conditions.filterNot(isOfSpark).distinctBy(_.canonicalized).map(c => (c, pushedForm(c)))
    val ofFilters = listed.map { case (condition, form) =>
      ConditionUse(ExpressionSql.of(condition), outcome(condition, form), Some(condition))
    }
    ofFilters ++ takenOver(listed.flatMap(_._2).flatMap(parts).map(_.toString).toSet)
  }

  /** The conditions that Iceberg evaluates completely by partitions, so Spark has no filter of them. */
  private def takenOver(known: Set[String]): Seq[ConditionUse] =
    (Predicate.and(pushed.filterNot(part => known(part.toString)).map(converted): _*) match {
      case True          => Nil
      case And(children) => children
      case single        => Seq(single)
    }).map { predicate =>
      val how = " by partitions, for all rows"
      ConditionUse(predicate.toString, Right(UsedCondition(how, Seq("partitions"), filter = predicate)))
    }

  private def isPinned: Boolean = ZoneMapRelation.isPinned(relation.relation, relation.sparkTable)

  private def outcome(condition: Expression, form: Option[IcebergExpression]): Outcome =
    form match {
      case Some(found) =>
        val filter = converted(found)
        used(filter, condition, "").map { case (how, means) => UsedCondition(how, means, filter = filter) }
      case None if ExpressionRule.isPlain(condition) || !isPinned =>
        Left(if (isPinned) reason(condition) else ConditionReason.ReadOptions)
      case None =>
        relation.conjuncts(condition).map(new ExpressionTranslator(columns).whenTrue) match {
          case several if several.forall(onlyNotNull)    => Left(reason(condition))
          case _ if !relation.conf.exists(_.expressions) => Left(ConditionReason.SwitchedOff)
          case several =>
            val derived = Predicate.and(several: _*)
            used(derived, condition, s" as $derived").map { case (how, means) =>
              UsedCondition(how, means, derived = derived)
            }
        }
    }

  private def reason(condition: Expression): ConditionReason =
    ConditionReasons.of(condition, columns) match {
      // the index evaluates what Spark pushes in Iceberg's form
      case _: ConditionReason.Function if formOf(condition).isDefined && pushedForm(condition).isEmpty =>
        ConditionReason.NotPushed
      case other => other
    }

  /** How a predicate prunes, and by which means, unless nothing is known of its columns. */
  private def used(
      predicate: Predicate,
      condition: Expression,
      as: String): Either[ConditionReason, (String, Seq[String])] =
    predicate match {
      case False => Right((": no row can match", Nil))
      case asked @ Evaluated(refs, condition) =>
        val on =
          if (condition.isBounded) s"the bounds and values of ${names(refs)}"
          else s"the values of files with few values of ${names(refs)}"
        val isSpent = evaluated.exists(planned => planned == asked && planned.condition.isSpent)
        val limit = if (isSpent) ", until the work of one plan was spent; the other files are kept" else ""
        Right((s" on $on$limit", Seq(s"the values of ${names(refs)}")))
      case _ if Predicate.columns(predicate).isEmpty => Left(reason(condition))
      case _ =>
        val found = means.of(predicate)
        if (found.nonEmpty) Right((s"$as by ${found.mkString(", ")}", found))
        else if (searchesTexts(predicate)) Left(reason(condition))
        else
          means.lacking(predicate) match {
            case Nil  => Left(reason(condition))
            case refs => Left(unbounded(predicate, refs))
          }
    }

  /** The reason why nothing evaluates these columns of a predicate. */
  private def unbounded(predicate: Predicate, lacking: Seq[ColumnRef]): ConditionReason = {
    val leftOut = IndexQuestions.leftOut(relation.table.pinned, lacking)
    if (leftOut.nonEmpty) ConditionReason.NotIndexed(names(leftOut))
    else if (comparesColumns(predicate)) ConditionReason.ComparedWithoutBounds(names(lacking))
    else ConditionReason.NoBounds(names(lacking))
  }

  /** Iceberg's form of a condition, if Spark pushed it. */
  private def pushedForm(condition: Expression): Option[IcebergExpression] =
    formOf(condition).filter(form => filter.isEmpty || parts(form).forall(part => pushedTexts(part.toString)))

  private def formOf(condition: Expression): Option[IcebergExpression] =
    try
      SparkMinor.pushed(condition).flatMap(p => Option(SparkV2Filters.convert(p)))
    catch { case NonFatal(_) => None }

  private def converted(part: IcebergExpression): Predicate =
    try ExpressionConverter.convert(part, relation.schema, SQLConf.get.caseSensitiveAnalysis)
    catch { case NonFatal(_) => Unknown(part.toString) }
}

private[zonemap] object ConditionLines {

  private type Outcome = Either[ConditionReason, UsedCondition]

  /** True for filters that Spark adds for joins; EXPLAIN describes joins in other lines. */
  private def isOfSpark(condition: Expression): Boolean =
    condition.exists(part => part.isInstanceOf[DynamicPruning] || part.isInstanceOf[BloomFilterMightContain])

  /** The conjuncts of a filter without NOT, since Iceberg pushes NOT down into comparisons. */
  private def parts(filter: IcebergExpression): Seq[IcebergExpression] =
    Expressions.rewriteNot(filter) match {
      case and: IcebergAnd                        => parts(and.left()) ++ parts(and.right())
      case all if all == Expressions.alwaysTrue() => Nil
      case part                                   => Seq(part)
    }

  /** True if a predicate excludes no row, or only nulls, which functions of a column usually imply. */
  private def onlyNotNull(predicate: Predicate): Boolean =
    predicate match {
      case True | NotNull(_) => true
      case And(children)     => children.forall(onlyNotNull)
      case _                 => false
    }

  private def searchesTexts(predicate: Predicate): Boolean =
    predicate match {
      case And(children) => children.exists(searchesTexts)
      case Or(children)  => children.exists(searchesTexts)
      case _: Contains   => true
      case _             => false
    }

  private def comparesColumns(predicate: Predicate): Boolean =
    predicate match {
      case And(children)     => children.exists(comparesColumns)
      case Or(children)      => children.exists(comparesColumns)
      case _: CompareColumns => true
      case _                 => false
    }

  private def evaluatedOf(predicate: Predicate): Seq[Evaluated] =
    predicate match {
      case And(children)    => children.flatMap(evaluatedOf)
      case Or(children)     => children.flatMap(evaluatedOf)
      case found: Evaluated => Seq(found)
      case AnyElement(of)   => evaluatedOf(of)
      case _                => Nil
    }

  private def names(columns: Seq[ColumnRef]): String = columns.map(_.name).distinct.mkString(" and ")
}
