// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, Literal}
import org.apache.spark.sql.types.DataType

import zonemap.core.predicate._
import zonemap.spark.expression._

/**
 * A join key of a scan: a column, or an expression of one column; a value at a path is a column if the index has facts
 * of it. SOUNDNESS, S116.
 *
 * @param expression the key as Spark's plan has it
 * @param column the column whose bounds limit the key
 */
private[zonemap] final class ScanKey private (
    val expression: Expression,
    private val tested: Expression,
    val column: ColumnRef,
    columns: ColumnResolver)
    extends RuntimeKey {

  private val isColumn: Boolean = tested match {
    case Bare(_)           => true
    case ValueAtPath(_, _) => columns.column(tested).isDefined
    case _                 => false
  }

  /** The key for people: the name of the column, or the expression as SQL. */
  override val name: String = if (isColumn) column.name else ExpressionSql.of(tested)

  override val passedAs: AttributeReference =
    expression match {
      case own: AttributeReference => own
      case other                   => AttributeReference(name, other.dataType)()
    }

  override def isFor(filtered: Expression): Boolean = filtered.semanticEquals(expression)

  override def whenAmong(values: Seq[Literal]): Predicate =
    among(values.map(literal => CatalystValues.encode(literal.dataType, literal.value)))

  /** True if values of the key restrict the files. */
  def restricts: Boolean =
    isColumn || CatalystValues.isOrdered(tested.dataType) && (among(Seq(ScanKey.sample(tested.dataType))) match {
      case True | NotNull(_) => false
      case _                 => true
    })

  /** Returns a predicate that is TRUE at least for the rows whose key is in the ranges, or is NaN if `nan` is true. */
  def within(ranges: ValueRanges, nan: Boolean): Predicate =
    new ExpressionTranslator(columns).whenIn(tested, ranges, nan)

  /** The rows whose key is among `keys`, with the equality of joins: null equals no value, and NaN equals NaN. */
  def among(keys: Seq[Encoded]): Predicate = {
    val values = keys.collect { case Encoded.Value(value) => value }
    val nan = keys.contains(Encoded.NaN)
    if (!isColumn) within(ValueRanges.of(values.iterator.flatMap(ValueRanges.point(_).iterator)), nan)
    else {
      val in = In(column, SortedValues.of(values))
      if (nan) Predicate.or(in, IsNaN(column)) else in
    }
  }

  override def equals(other: Any): Boolean =
    other match {
      case that: ScanKey =>
        column == that.column && ((isColumn && that.isColumn) || tested.semanticEquals(that.tested))
      case _ => false
    }

  override def hashCode(): Int = column.hashCode
}

private[join] object ScanKey {

  /** Returns the key, if it is an expression of one column that the index knows. */
  def of(key: Expression, columns: ColumnResolver): Option[ScanKey] = {
    val tested = Column.within(key)
    Some(sources(tested, columns).distinct).collect {
      case Seq(column) if key.references.size == 1 => new ScanKey(key, tested, column, columns)
    }
  }

  private def sources(tested: Expression, columns: ColumnResolver): Seq[ColumnRef] = {
    def within: Seq[ColumnRef] = tested.children.flatMap(sources(_, columns))
    tested match {
      case Bare(_)           => columns.column(tested).toSeq
      case ValueAtPath(_, _) => columns.column(tested).fold(within)(Seq(_))
      case _                 => within
    }
  }

  private def sample(dataType: DataType): Encoded = CatalystValues.encode(dataType, Literal.default(dataType).value)
}
