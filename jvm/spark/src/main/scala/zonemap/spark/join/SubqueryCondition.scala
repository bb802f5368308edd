// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{Predicate => _, _}
import org.apache.spark.sql.execution.{ScalarSubquery => PlannedSubquery}

import zonemap.core.predicate._
import zonemap.spark.expression.{ColumnResolver, ExpressionSql, ExpressionTranslator}

/**
 * A condition of a query that contains one scalar subquery, such as `ts > (SELECT max(ts) FROM mark)`. Once Spark has
 * the subquery's value, the condition restricts files like the same condition with a literal. SOUNDNESS, S183.
 *
 * @param condition a deterministic condition on columns of the scan
 */
private[join] final class SubqueryCondition private (
    condition: Expression,
    subquery: ScalarSubquery,
    columns: ColumnResolver)
    extends RuntimeKey {

  private val form = SubqueryCondition.form(condition)

  override val name: String = ExpressionSql.of(form)

  override val passedAs: AttributeReference = AttributeReference(name, subquery.dataType)()

  override def isFor(expression: Expression): Boolean = SubqueryCondition.form(expression).semanticEquals(form)

  /** A subquery without a row has the value NULL. With several rows the query fails, and nothing is pruned. */
  override def whenAmong(values: Seq[Literal]): Predicate =
    values match {
      case Seq()    => whenValue(Literal(null, subquery.dataType))
      case Seq(one) => whenValue(one)
      case _        => True
    }

  /** True if a value can restrict the files. */
  def restricts: Boolean =
    whenValue(Literal.default(subquery.dataType)) match {
      case True | NotNull(_) => false
      case _                 => true
    }

  private def whenValue(value: Literal): Predicate =
    Try(condition.transformUp {
      case _: ScalarSubquery                            => value
      case known if known.foldable && !isLiteral(known) => Literal.create(known.eval(), known.dataType)
    }).fold(_ => True, new ExpressionTranslator(columns).whenTrue(_))

  private def isLiteral(expression: Expression): Boolean = expression.isInstanceOf[Literal]

  override def equals(other: Any): Boolean =
    other match {
      case that: SubqueryCondition => form.semanticEquals(that.form)
      case _                       => false
    }

  override def hashCode(): Int = form.semanticHash()
}

private[join] object SubqueryCondition {

  /** Returns the condition, if it has one subquery, which does not depend on the row. */
  def of(condition: Expression, columns: ColumnResolver): Option[SubqueryCondition] =
    condition.collect { case subquery: PlanExpression[_] => subquery } match {
      case Seq(subquery: ScalarSubquery)
          if condition.deterministic && condition.references.nonEmpty && subquery.children.isEmpty =>
        Some(new SubqueryCondition(condition, subquery, columns))
      case _ => None
    }

  /** The condition with a column in the place of its subquery, which Spark replaces when it plans the subquery. */
  private def form(condition: Expression): Expression =
    condition.transform {
      case subquery: ScalarSubquery  => placeholder(subquery, subquery.exprId)
      case subquery: PlannedSubquery => placeholder(subquery, subquery.exprId)
    }

  private def placeholder(subquery: Expression, id: ExprId): Expression =
    AttributeReference(s"subquery#${id.id}", subquery.dataType)(id)
}
