// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.testing

import java.nio.ByteBuffer
import java.util.UUID

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{Schema, StructLike}
import org.apache.iceberg.expressions._
import org.apache.iceberg.types.{Type, Types}

/**
 * One row of a test table, by field id, in Iceberg's internal form; a struct that is not null maps its own id to
 * `true`. The columns of `struct` decide the result: values are promoted to its types, and missing values are the
 * initial default.
 */
final class TestRow(values: Map[Int, Any], struct: Types.StructType) extends StructLike {
  override def size(): Int = struct.fields().size()

  override def get[T](pos: Int, javaClass: Class[T]): T = javaClass.cast(valueOf(struct.fields().get(pos)))

  override def set[T](pos: Int, value: T): Unit = throw new UnsupportedOperationException

  private def valueOf(field: Types.NestedField): Any =
    values.get(field.fieldId()) match {
      case None                                   => field.initialDefault()
      case Some(null)                             => null
      case Some(_) if field.`type`().isStructType => new TestRow(values, field.`type`().asStructType())
      case Some(value)                            => TestRow.promoted(value, field.`type`())
    }
}

object TestRow {
  def promoted(value: Any, asked: Type): Any = (value, asked.typeId()) match {
    case (i: Int, Type.TypeID.LONG)     => i.toLong
    case (f: Float, Type.TypeID.DOUBLE) => f.toDouble
    case _                              => value
  }
}

/**
 * Evaluates a filter on a row, by Iceberg's rules for nulls and Spark's rules for values: NaN equals NaN and is
 * greater than all other values, -0.0 equals 0.0, and strings and bytes compare unsigned. Uuids have two orders: a
 * comparison is TRUE if it is TRUE in one of them.
 */
object RowOracle {

  /** Binds a filter once for many rows. */
  def bind(filter: Expression, schema: Schema): StructLike => Boolean = {
    val bound = Binder.bind(schema.asStruct(), Expressions.rewriteNot(filter), true)
    row => ExpressionVisitors.visit(bound, new Visitor(row)).booleanValue
  }

  private final class Visitor(row: StructLike) extends ExpressionVisitors.BoundExpressionVisitor[java.lang.Boolean] {
    override def alwaysTrue(): java.lang.Boolean = true
    override def alwaysFalse(): java.lang.Boolean = false
    override def not(child: java.lang.Boolean): java.lang.Boolean = throw new IllegalStateException("NOT is rewritten")
    override def and(left: java.lang.Boolean, right: java.lang.Boolean): java.lang.Boolean = left && right
    override def or(left: java.lang.Boolean, right: java.lang.Boolean): java.lang.Boolean = left || right
    override def predicate[T](leaf: BoundPredicate[T]): java.lang.Boolean = holds(leaf, leaf.term().eval(row))
  }

  private def holds[T](leaf: BoundPredicate[T], value: Any): Boolean = {
    import Expression.Operation._
    def compares(test: Int => Boolean) = orders(value, leaf.asLiteralPredicate().literal().value()).exists(test)
    def isMember = leaf.asSetPredicate().literalSet().asScala.exists(e => orders(value, e).contains(0))
    def startsWith = value.toString.startsWith(leaf.asLiteralPredicate().literal().value().toString)
    leaf.op() match {
      case IS_NULL            => value == null
      case NOT_NULL           => value != null
      case IS_NAN             => isNaN(value)
      case NOT_NAN            => !isNaN(value)
      case NOT_EQ             => value == null || compares(_ != 0)
      case NOT_IN             => value == null || !isMember
      case NOT_STARTS_WITH    => value == null || !startsWith
      case _ if value == null => false
      case LT                 => compares(_ < 0)
      case LT_EQ              => compares(_ <= 0)
      case GT                 => compares(_ > 0)
      case GT_EQ              => compares(_ >= 0)
      case EQ                 => compares(_ == 0)
      case IN                 => isMember
      case STARTS_WITH        => startsWith
      case other              => throw new IllegalArgumentException(other.toString)
    }
  }

  private def isNaN(value: Any): Boolean = value match {
    case f: Float  => f.isNaN
    case d: Double => d.isNaN
    case _         => false
  }

  /** The results of the comparison in every order of the value's type. */
  private def orders(left: Any, right: Any): Seq[Int] = (left, right) match {
    case (a: Float, b: Float)   => Seq(java.lang.Double.compare(unsigned(a.toDouble), unsigned(b.toDouble)))
    case (a: Double, b: Double) => Seq(java.lang.Double.compare(unsigned(a), unsigned(b)))
    case (a: CharSequence, b: CharSequence) =>
      Seq(java.util.Arrays.compareUnsigned(a.toString.getBytes("UTF-8"), b.toString.getBytes("UTF-8")))
    case (a: ByteBuffer, b: ByteBuffer) => Seq(java.util.Arrays.compareUnsigned(bytes(a), bytes(b)))
    case (a: UUID, b: UUID)             => Seq(a.compareTo(b), a.toString.compareTo(b.toString))
    case (a, b)                         => Seq(a.asInstanceOf[Comparable[Any]].compareTo(b))
  }

  private def unsigned(zero: Double): Double = if (zero == 0.0) 0.0 else zero

  private def bytes(buffer: ByteBuffer): Array[Byte] = {
    val out = new Array[Byte](buffer.remaining)
    buffer.duplicate().get(out)
    out
  }
}
