// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.aggregate

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, Literal, NamedExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Subquery}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DoubleType, FloatType}

import zonemap.core.predicate.ColumnRef
import zonemap.iceberg.answer.{AggregateQuestion, FileAggregate, GroupKey}
import zonemap.iceberg.report.AggregateReason
import zonemap.spark.expression.{ExactTranslator, ExpressionSql, MonotoneKey}
import zonemap.spark.scan.{Guarded, OtherEngines, SparkMinor, ZoneMapRelation}

/**
 * An aggregate directly above deterministic projections and filters over a [[ZoneMapRelation]], or over a planned scan
 * of one.
 *
 * @param output the output of the topmost projection, as expressions of `columns`
 * @param conditions all conditions of the filters that Spark evaluates, as expressions of `columns`
 * @param columns the output of the relation or of the scan
 * @param scan the scan, if it is planned
 */
private[aggregate] final class AggregatedScan(
    val aggregate: Aggregate,
    output: Seq[NamedExpression],
    val conditions: Seq[Expression],
    columns: Seq[AttributeReference],
    val scan: Option[DataSourceV2ScanRelation],
    val relation: ZoneMapRelation) {

  def isOn: Boolean = relation.conf.exists(conf => conf.aggregates && !conf.planner.shadow)

  /** The grouping keys, as attributes of the aggregate's child. */
  lazy val keys: Seq[AttributeReference] = aggregate.groupingExpressions.collect { case a: AttributeReference => a }

  /** The distinct aggregate functions. */
  lazy val functions: Seq[AggregateExpression] =
    aggregate.aggregateExpressions
      .flatMap(_.collect { case function: AggregateExpression => function })
      .distinctBy(_.canonicalized)

  def question: Either[AggregateReason, AggregateQuestion] =
    for {
      grouping <- all(aggregate.groupingExpressions)(keyOf)
      aggregates <- all(functions)(aggregateOf)
    } yield AggregateQuestion(new ExactTranslator(relation.columns).whenTrue(conditions), grouping, aggregates)

  private def keyOf(key: Expression): Either[AggregateReason, GroupKey] = {
    val computed = ExpressionSql.below(key, output)
    val text = ExpressionSql.of(computed)
    val found =
      if (key.dataType == FloatType || key.dataType == DoubleType) None
      else columnOf(key).map(GroupKey(_)).orElse(MonotoneKey.of(computed, relation.columns, text))
    found.toRight(AggregateReason.Grouping(text))
  }

  private def aggregateOf(function: AggregateExpression): Either[AggregateReason, FileAggregate] = {
    val found: Option[FileAggregate] = function match {
      case AggregateExpression(plain, Complete, false, None, _) =>
        plain match {
          case Count(Seq(Literal(value, _))) if value != null           => Some(FileAggregate.CountRows)
          case Count(Seq(child)) if sourceOf(child).exists(!_.nullable) => Some(FileAggregate.CountRows)
          case Count(Seq(child)) => columnOf(child).map(FileAggregate.CountValues)
          case Min(child)        => columnOf(child).map(FileAggregate.Least)
          case Max(child)        => columnOf(child).map(FileAggregate.Greatest)
          case _                 => None
        }
      case _ => None
    }
    found.toRight(AggregateReason.Function(ExpressionSql.of(ExpressionSql.below(function, output))))
  }

  private def columnOf(expression: Expression): Option[ColumnRef] =
    sourceOf(expression).flatMap(relation.columns.column)

  /** Returns the column of the scan that an attribute copies, with or without an alias. */
  private def sourceOf(expression: Expression): Option[AttributeReference] =
    expression match {
      case attribute: AttributeReference =>
        ZoneMapRelation.sourceOf(attribute, output, columns)
      case _ => None
    }

  private def all[A, B](from: Seq[A])(f: A => Either[AggregateReason, B]): Either[AggregateReason, Seq[B]] = {
    val found = from.map(f)
    found.collectFirst { case Left(reason) => reason }.toLeft(found.collect { case Right(value) => value })
  }
}

private[aggregate] object AggregatedScan {

  /** Returns the plan with the aggregates replaced for which `answer` returns a plan. */
  def replaced(plan: LogicalPlan)(answer: Aggregate => Option[LogicalPlan]): LogicalPlan =
    if (!mayAnswer(plan)) plan
    else
      plan.transformUp { case aggregate: Aggregate =>
        Guarded.orNothing("aggregates from the index")(answer(aggregate)).getOrElse(aggregate)
      }

  /** Whether rows from the index may take the place of parts of a plan. */
  def mayAnswer(plan: LogicalPlan): Boolean =
    plan match {
      case subquery: Subquery if subquery.correlated => false
      case _ => !plan.exists(SparkMinor.isRecursive) && !OtherEngines.areConfigured(SQLConf.get)
    }

  /** Matches an aggregate over a relation whose scan is not planned yet, or over a planned scan. */
  def unapply(aggregate: Aggregate): Option[AggregatedScan] =
    aggregate.child match {
      case PhysicalOperation(output, conditions, source)
          if !SparkMinor.hasHint(aggregate) &&
            (output ++ conditions ++ aggregate.groupingExpressions).forall(_.deterministic) =>
        relationOf(source)
          .map { case (relation, columns, scan) =>
            new AggregatedScan(aggregate, output, conditions, columns, scan, relation)
          }
          .filter(found => aggregate.groupingExpressions.nonEmpty || found.functions.nonEmpty)
      case _ => None
    }

  private def relationOf(
      source: LogicalPlan): Option[(ZoneMapRelation, Seq[AttributeReference], Option[DataSourceV2ScanRelation])] =
    source match {
      case scan: DataSourceV2ScanRelation =>
        ZoneMapRelation.unapply(scan.relation).map(found => (found, scan.output, Some(scan)))
      case other => ZoneMapRelation.unapply(other).map(found => (found, found.relation.output, None))
    }
}
