// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Schema
import org.apache.iceberg.expressions.{Binder, BoundLiteralPredicate, BoundPredicate, BoundReference, BoundSetPredicate}
import org.apache.iceberg.expressions.{BoundTransform, BoundUnaryPredicate, Expression, Expressions, ExpressionVisitors}
import org.apache.iceberg.types.Types.NestedField
import org.apache.iceberg.util.NaNUtil

import zonemap.core.predicate._
import zonemap.core.value.{BytesValue, StringType, ZoneValue}

/**
 * Converts an Iceberg filter to the core's [[Predicate]], bound by field id in one schema.
 *
 * The filter implies the result: for a row for which the filter is TRUE, the predicate is TRUE too. Terms without a
 * counterpart (some transforms, unordered types, literals that do not fit the column's type) become `Unknown`, which
 * keeps files. Iceberg's `notEq`, `notIn` and `notStartsWith` match nulls, so they become leaves that match nulls.
 * Spark adds a `notNull` to each of them; the simplifier combines both into the stricter SQL form.
 */
private[zonemap] object ExpressionConverter {

  /**
   * Binds `filter` to `schema` and converts it.
   *
   * @throws org.apache.iceberg.exceptions.ValidationException if a name of the filter is not in the schema
   */
  def convert(filter: Expression, schema: Schema, caseSensitive: Boolean): Predicate = {
    val bound = Binder.bind(schema.asStruct(), Expressions.rewriteNot(filter), caseSensitive)
    Predicate.simplify(ExpressionVisitors.visit(bound, new Visitor(schema)))
  }

  private final class Visitor(schema: Schema) extends ExpressionVisitors.BoundExpressionVisitor[Predicate] {
    override def alwaysTrue(): Predicate = True
    override def alwaysFalse(): Predicate = False
    override def not(child: Predicate): Predicate = Unknown("NOT")
    override def and(left: Predicate, right: Predicate): Predicate = And(Seq(left, right))
    override def or(left: Predicate, right: Predicate): Predicate = Or(Seq(left, right))

    override def predicate[T](leaf: BoundPredicate[T]): Predicate =
      leaf.term() match {
        case reference: BoundReference[_] =>
          columnOf(reference.field()).fold[Predicate](Unknown(s"type ${reference.`type`()}"))(onColumn(_, leaf))
        case transform: BoundTransform[_, _] =>
          columnOf(transform.ref().field())
            .flatMap(column => onTransform(column, transform, leaf))
            .getOrElse(Unknown(s"term ${transform.transform()}"))
        case term => Unknown(s"term $term")
      }

    private def columnOf(field: NestedField): Option[ColumnRef] =
      IcebergValues
        .columnType(field.`type`())
        .map(columnType => ColumnRef(field.fieldId, columnType, schema.findColumnName(field.fieldId)))
  }

  /**
   * Transforms map null to null, so a null test of the transform is a null test of the column. A comparison becomes a
   * range of the column if the transform preserves the order of the column's values.
   */
  private def onTransform[T](
      column: ColumnRef,
      term: BoundTransform[_, _],
      leaf: BoundPredicate[T]): Option[Predicate] = {
    val ranges = TransformRanges.of(column, term.transform())
    def compare(op: Expression.Operation, value: Any): Option[Predicate] =
      value match {
        case number: java.lang.Number => ranges.flatMap(_.compare(op, number.longValue))
        case _                        => None
      }
    leaf match {
      case unary: BoundUnaryPredicate[T] if unary.op() == Expression.Operation.IS_NULL  => Some(IsNull(column))
      case unary: BoundUnaryPredicate[T] if unary.op() == Expression.Operation.NOT_NULL => Some(NotNull(column))
      case literal: BoundLiteralPredicate[T] => compare(literal.op(), literal.literal().value())
      case set: BoundSetPredicate[T] if set.op() == Expression.Operation.IN =>
        val members = set.literalSet().asScala.toSeq.map(v => compare(Expression.Operation.EQ, v))
        Option.when(members.forall(_.isDefined))(Or(members.flatten))
      case _ => None
    }
  }

  private def onColumn[T](column: ColumnRef, leaf: BoundPredicate[T]): Predicate =
    leaf match {
      case unary: BoundUnaryPredicate[T]     => onUnary(column, unary.op())
      case literal: BoundLiteralPredicate[T] => onLiteral(column, literal.op(), literal.literal().value())
      case set: BoundSetPredicate[T]         => onSet(column, set.op(), set.literalSet().asScala)
      case other                             => Unknown(other.op().toString)
    }

  private def onUnary(column: ColumnRef, op: Expression.Operation): Predicate =
    op match {
      case Expression.Operation.IS_NULL  => IsNull(column)
      case Expression.Operation.NOT_NULL => NotNull(column)
      case Expression.Operation.IS_NAN   => IsNaN(column)
      case Expression.Operation.NOT_NAN  => NotNaN(column)
      case other                         => Unknown(other.toString)
    }

  private def onLiteral(column: ColumnRef, op: Expression.Operation, value: Any): Predicate =
    if (NaNUtil.isNaN(value)) onNaN(column, op)
    else
      IcebergValues.encodeLiteral(column.columnType, value) match {
        case None          => Unknown(s"literal of ${column.columnType.text}")
        case Some(literal) => onValue(column, op, literal)
      }

  private def onValue(column: ColumnRef, op: Expression.Operation, literal: ZoneValue): Predicate =
    op match {
      case Expression.Operation.LT              => Compare(column, CompareOp.Lt, literal)
      case Expression.Operation.LT_EQ           => Compare(column, CompareOp.LtEq, literal)
      case Expression.Operation.GT              => Compare(column, CompareOp.Gt, literal)
      case Expression.Operation.GT_EQ           => Compare(column, CompareOp.GtEq, literal)
      case Expression.Operation.EQ              => Compare(column, CompareOp.Eq, literal)
      case Expression.Operation.NOT_EQ          => DistinctFrom(column, literal)
      case Expression.Operation.STARTS_WITH     => onPrefix(column, literal, StartsWith.apply)
      case Expression.Operation.NOT_STARTS_WITH => onPrefix(column, literal, NotStartsWithOrNull.apply)
      case other                                => Unknown(other.toString)
    }

  private def onPrefix(column: ColumnRef, literal: ZoneValue, make: (ColumnRef, BytesValue) => Predicate): Predicate =
    literal match {
      case prefix: BytesValue if column.columnType == StringType => make(column, prefix)
      case _                                                     => Unknown(s"prefix on ${column.columnType.text}")
    }

  private def onNaN(column: ColumnRef, op: Expression.Operation): Predicate =
    op match {
      case Expression.Operation.LT     => Predicate.compareToNaN(column, CompareOp.Lt)
      case Expression.Operation.LT_EQ  => Predicate.compareToNaN(column, CompareOp.LtEq)
      case Expression.Operation.GT     => Predicate.compareToNaN(column, CompareOp.Gt)
      case Expression.Operation.GT_EQ  => Predicate.compareToNaN(column, CompareOp.GtEq)
      case Expression.Operation.EQ     => Predicate.compareToNaN(column, CompareOp.Eq)
      case Expression.Operation.NOT_EQ => NotNaN(column)
      case other                       => Unknown(s"$other NaN")
    }

  /** An element that cannot be encoded makes the whole set `Unknown`. */
  private def onSet[T](column: ColumnRef, op: Expression.Operation, elements: Iterable[T]): Predicate = {
    val encoded = elements.flatMap(e => IcebergValues.encodeLiteral(column.columnType, e))
    if (encoded.size != elements.size) Unknown(s"IN of ${column.columnType.text}")
    else {
      val values = SortedValues.of(encoded)
      op match {
        case Expression.Operation.IN     => In(column, values)
        case Expression.Operation.NOT_IN => NotInOrNull(column, values)
        case other                       => Unknown(other.toString)
      }
    }
  }
}
