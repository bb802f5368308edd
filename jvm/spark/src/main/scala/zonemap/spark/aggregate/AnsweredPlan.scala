// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LocalRelation, LogicalPlan, Project, Union}
import org.apache.spark.sql.types.DataType

import zonemap.core.value.ZoneValue
import zonemap.iceberg.answer.GroupAnswer
import zonemap.spark.expression.BoundLiteral

/**
 * The plan that replaces an aggregate. It combines rows from the index with the same aggregate over the remaining
 * files.
 *
 * The plan has only ordinary Catalyst operators. It sums partial counts and takes the least of partial minima and the
 * greatest of partial maxima. Its output columns have the ids of the aggregate's output columns.
 */
private[aggregate] final class AnsweredPlan(found: AggregatedScan, groups: Seq[GroupAnswer]) {
  private val keys = found.keys
  private val functions = found.functions

  /**
   * One row for each group. `None` if a value does not fit the type of its column, which happens when time travel reads
   * a column by an older, narrower type.
   */
  val rows: Option[LocalRelation] = {
    val types = keys.map(_.dataType) ++ functions.map(_.dataType)
    val data = groups.map { group =>
      val values = (group.keys ++ group.results).zip(types).map { case (value, dataType) => catalyst(value, dataType) }
      Option.when(values.forall(_.isDefined))(InternalRow.fromSeq(values.flatten))
    }
    val output =
      keys.map(k => AttributeReference(k.name, k.dataType, k.nullable)()) ++
        functions.map(f => AttributeReference(f.aggregateFunction.prettyName, f.dataType, f.nullable)())
    Option.when(data.forall(_.isDefined))(LocalRelation(output, data.flatten))
  }

  /**
   * The plan if no file remains to be read: `rows` holds each group once. The output of the aggregate is computed at
   * once if Spark can, so that no job runs for it.
   */
  def whole(rows: LocalRelation, answered: AnsweredScan): LogicalPlan =
    ConvertToLocalRelation(Project(results(rows.output, (_, part) => part), rows)) match {
      case local: LocalRelation => AnsweredRows(local.output, local.data)(answered)
      case project =>
        project.transform { case `rows` => AnsweredRows(rows.output, rows.data)(answered) }
    }

  /**
   * The plan if some files remain to be read.
   *
   * @param rest the aggregate's child over the remaining files
   */
  def withRest(rows: LocalRelation, rest: LogicalPlan): LogicalPlan = {
    val partial = Aggregate(
      found.aggregate.groupingExpressions,
      keys.map(k => Alias(k, k.name)()) ++ functions.map(f => Alias(f, f.aggregateFunction.prettyName)()),
      rest)
    val union = Union(partial, rows)
    Aggregate(union.output.take(keys.size), results(union.output, merged), union)
  }

  private def merged(function: AggregateExpression, part: Attribute): Expression =
    function.aggregateFunction match {
      case _: Min => Min(part).toAggregateExpression()
      case _: Max => Max(part).toAggregateExpression()
      case _      => Coalesce(Seq(Sum(part).toAggregateExpression(), Literal(0L)))
    }

  /** The aggregate's output expressions, over columns that hold the group keys and the results of the functions. */
  private def results(
      parts: Seq[Attribute],
      total: (AggregateExpression, Attribute) => Expression): Seq[NamedExpression] = {
    val keyParts = keys.map(_.exprId).zip(parts).toMap
    val totals = functions.zip(parts.drop(keys.size)).map { case (f, part) => f.canonicalized -> total(f, part) }.toMap
    def over(expression: Expression): Expression =
      expression match {
        case function: AggregateExpression => totals(function.canonicalized)
        case attribute: AttributeReference => keyParts.getOrElse(attribute.exprId, attribute)
        case other                         => other.mapChildren(over)
      }
    found.aggregate.aggregateExpressions.map {
      case key: AttributeReference =>
        Alias(keyParts(key.exprId), key.name)(key.exprId, key.qualifier, Some(key.metadata))
      case other => over(other).asInstanceOf[NamedExpression]
    }
  }

  private def catalyst(value: ZoneValue, dataType: DataType): Option[Any] =
    if (value == null) Some(null) else BoundLiteral.of(value, dataType).map(_.value)
}
