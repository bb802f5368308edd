package zonemap.spark.shadow

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression, NamedExpression, PlanExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.{DataType, DoubleType, FloatType}

/**
 * Finds the columns of a query that depend on the order in which floating-point numbers are added or compared. This
 * order depends on how files are split and read, so two correct runs may differ in the last digits, and in the sign of
 * a zero that is the least or greatest number (SOUNDNESS, S140).
 */
private[shadow] object InexactSums {

  /** Returns the inexact columns of the result; `Left` if rows or values of other types depend on an inexact column. */
  def of(plan: LogicalPlan): Either[String, AttributeSet] =
    try Right(AttributeSet(plan.output.filter(inexactOf(plan).contains)))
    catch { case e: Dependent => Left(s"it depends on the last digits of a number, in ${e.where}") }

  private final class Dependent(val where: String) extends RuntimeException(where, null, false, false)

  private def inexactOf(plan: LogicalPlan): AttributeSet = {
    val below = plan.children.map(inexactOf)
    val inherited = AttributeSet.fromAttributeSets(below)
    def isInexact(expression: Expression): Boolean =
      expression.references.exists(inherited.contains) || expression.exists {
        case function: AggregateFunction => dependsOnOrder(function)
        case subquery: PlanExpression[_] => ofSubquery(subquery)
        case _                           => false
      }
    def columns(expressions: Seq[NamedExpression]): AttributeSet = {
      val found = expressions.filter(isInexact)
      if (!found.forall(e => isFloating(e.dataType))) throw new Dependent(plan.nodeName)
      AttributeSet(found.map(_.toAttribute))
    }
    plan match {
      case Project(output, _) => columns(output)
      case aggregate: Aggregate =>
        if (aggregate.groupingExpressions.exists(isInexact)) throw new Dependent(plan.nodeName)
        columns(aggregate.aggregateExpressions)
      case _: SubqueryAlias | _: View | _: GlobalLimit | _: LocalLimit | _: Offset => inherited
      case other if inherited.isEmpty && !other.expressions.exists(isInexact)      => AttributeSet.empty
      case sort: Sort if !sort.order.exists(isInexact)                             => inherited
      case filter: Filter if !isInexact(filter.condition)                          => inherited
      case other => throw new Dependent(other.nodeName)
    }
  }

  private def ofSubquery(subquery: PlanExpression[_]): Boolean =
    subquery.plan match {
      case inner: LogicalPlan => inexactOf(inner).nonEmpty
      case _                  => true
    }

  private def dependsOnOrder(function: AggregateFunction): Boolean =
    function match {
      case _: Sum | _: Average | _: CentralMomentAgg | _: Min | _: Max => isFloating(function.dataType)
      case _                                                           => false
    }

  private def isFloating(dataType: DataType): Boolean = dataType == DoubleType || dataType == FloatType
}
