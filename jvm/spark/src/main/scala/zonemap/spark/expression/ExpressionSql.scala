// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions._

import zonemap.core.value.ValueText

/** Formats an expression for people: as SQL, on one line, with columns as the query names them. */
private[zonemap] object ExpressionSql {
  private val MaxText = 200

  def of(expression: Expression): String = {
    val named = expression.transformDown {
      case UnguardedCall(call)        => call
      case KnownNotNull(child)        => child
      case column: AttributeReference => column.withQualifier(Nil)
    }
    val text =
      try named.sql
      catch { case NonFatal(_) => named.toString }
    val line = ValueText.printable(text)
    if (line.length <= MaxText) line else line.take(MaxText) + "..."
  }

  /**
   * Returns the expression with each column that a projection computes replaced by its definition. Spark gives such a
   * column a name that the query does not contain, such as `_groupingexpression`.
   */
  def below(expression: Expression, output: Seq[NamedExpression]): Expression =
    below(expression, output.iterator.collect { case alias: Alias => alias.toAttribute -> alias.child }.toSeq)

  def below(expression: Expression, defined: Iterable[(Attribute, Expression)]): Expression =
    if (defined.isEmpty) expression
    else {
      val byId = defined.iterator.map { case (column, definition) => column.exprId -> definition }.toMap
      expression.transform { case column: AttributeReference => byId.getOrElse(column.exprId, column) }
    }
}

/** Matches the test for null that Spark adds before a call of a Scala function with primitive arguments. */
private object UnguardedCall {
  def unapply(expression: Expression): Option[Expression] =
    expression match {
      case If(test, Literal(null | false, _), call) if isTest(test) && call.exists(_.isInstanceOf[KnownNotNull]) =>
        Some(call)
      case _ => None
    }

  private def isTest(test: Expression): Boolean =
    test match {
      case IsNull(_)       => true
      case Or(left, right) => isTest(left) && isTest(right)
      case _               => false
    }
}
