// SPDX-License-Identifier: Apache-2.0
package zonemap.server.plan

import java.nio.ByteBuffer
import java.util.HexFormat

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Schema
import org.apache.iceberg.expressions.{Expression, Expressions, ExpressionVisitors, UnboundPredicate, UnboundTerm}
import org.apache.iceberg.expressions.Expression.Operation
import org.apache.iceberg.types.Type.TypeID
import org.apache.iceberg.types.Types.NestedField

/** Filters as clients send them. */
private[plan] object ClientFilter {

  /**
   * The filter with bytes where the protocol has hexadecimal texts. Iceberg's parser knows no schema and takes them
   * for texts, which no binary column is comparable with.
   */
  def typed(filter: Expression, schema: Schema, caseSensitive: Boolean): Expression =
    ExpressionVisitors.visit(filter, new Typing(schema, caseSensitive))

  /**
   * A filter that each row satisfies which the reader of some client takes for a row of `filter` (SOUNDNESS, S160).
   *
   * Spark takes both zeros for one value and NaN for the greatest one, and the index proves by that. Other readers
   * distinguish the zeros, or compare NaN with nothing, so that NOT (x > 5) holds for NaN.
   */
  def weakened(filter: Expression, schema: Schema, caseSensitive: Boolean): Expression =
    ExpressionVisitors.visit(Expressions.rewriteNot(filter), new Weakening(schema, caseSensitive))

  /** Replaces conditions, by the type of their column. */
  private[plan] abstract class Replacing(schema: Schema, caseSensitive: Boolean)
      extends ExpressionVisitors.ExpressionVisitor[Expression] {

    /** @param field the column, or the one that a transform is of; `None` if the schema does not have it */
    protected def replaced(condition: UnboundPredicate[_], field: Option[NestedField]): Expression

    override def alwaysTrue(): Expression = Expressions.alwaysTrue()

    override def alwaysFalse(): Expression = Expressions.alwaysFalse()

    override def not(child: Expression): Expression = Expressions.not(child)

    override def and(left: Expression, right: Expression): Expression = Expressions.and(left, right)

    override def or(left: Expression, right: Expression): Expression = Expressions.or(left, right)

    override def predicate[T](condition: UnboundPredicate[T]): Expression = {
      val name = condition.ref().name()
      val field = if (caseSensitive) schema.findField(name) else schema.caseInsensitiveFindField(name)
      replaced(condition, Option(field))
    }

    protected def literals(condition: UnboundPredicate[_]): Seq[Any] =
      Option(condition.literals()).fold(Seq.empty[Any])(_.asScala.map(_.value()).toSeq)
  }

  private final class Typing(schema: Schema, caseSensitive: Boolean) extends Replacing(schema, caseSensitive) {

    override protected def replaced(condition: UnboundPredicate[_], field: Option[NestedField]): Expression = {
      val texts = literals(condition).collect { case text: CharSequence => text.toString }
      if (texts.isEmpty || !field.exists(isOf(_, Bytes))) condition
      else {
        val bytes = texts.map(text => ByteBuffer.wrap(HexFormat.of().parseHex(text)))
        Expressions.predicate(condition.op(), condition.term().asInstanceOf[UnboundTerm[ByteBuffer]], bytes.asJava)
      }
    }
  }

  /** For filters without NOT. */
  private final class Weakening(schema: Schema, caseSensitive: Boolean) extends Replacing(schema, caseSensitive) {

    override protected def replaced(condition: UnboundPredicate[_], field: Option[NestedField]): Expression =
      if (!field.exists(isOf(_, Floats))) condition
      else if (literals(condition).exists(isDoubtful(_, field.exists(isOf(_, Set(TypeID.FLOAT))))))
        Expressions.alwaysTrue()
      else if (Below(condition.op())) Expressions.or(condition, Expressions.isNaN(condition.ref().name()))
      else condition

    /** Whether readers may compare a literal in different ways. */
    private def isDoubtful(literal: Any, isFloat: Boolean): Boolean = literal match {
      case number: Number =>
        val value = if (isFloat) number.floatValue().toDouble else number.doubleValue()
        value == 0 || value.isInfinite || value.isNaN
      case _ => false
    }
  }

  private def isOf(field: NestedField, types: Set[TypeID]): Boolean = types(field.`type`().typeId())

  val Floats: Set[TypeID] = Set(TypeID.FLOAT, TypeID.DOUBLE)

  private val Bytes = Set(TypeID.BINARY, TypeID.FIXED)

  private val Below = Set(Operation.LT, Operation.LT_EQ)
}
