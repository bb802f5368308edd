// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions.{Descending, NullsFirst, SortOrder}

import zonemap.core.predicate.{ColumnRef, CompareOp, Predicate}
import zonemap.core.value.ZoneValue
import zonemap.iceberg.answer.SortFunction

/**
 * A monotone function of one column by which a query sorts, such as `to_date(ts)`, in the time zone of the session.
 *
 * That the function keeps or reverses the order only decides which end of the column to look at. The bound is proven
 * by preimages, which are never too small: SOUNDNESS, S200.
 *
 * @param column the column
 * @param descending whether greater values of the column come first
 * @param nullsFirst whether a null of the column comes first
 */
private[zonemap] final class MonotoneSort private (
    order: SortOrder,
    key: MonotoneKey,
    increasing: Boolean,
    val column: ColumnRef)
    extends SortFunction {
  private val best = order.direction == Descending
  private val nullsComeFirst = order.nullOrdering == NullsFirst

  val descending: Boolean = best == increasing
  val nullsFirst: Boolean = nullsComeFirst && key.ofNull.exists(_ == null)

  override def rowsUpTo(value: ZoneValue, farthest: ZoneValue): Option[Predicate] = {
    val (first, last) = if (value.compare(farthest) <= 0) (value, farthest) else (farthest, value)
    for {
      result <- key.result(value)
      if result != null
      within = Wanted.compared(if (best) CompareOp.GtEq else CompareOp.LtEq, Encoded.Value(result))
      after = key.preimage(within.otherValues.copy(nulls = true)).ranges
      if !after.intersects(first, last)
    } yield key.preimage(within.copy(nulls = nullsComeFirst)).on(column)
  }

  /** The bound of the sort key as SQL, with the result of `value`. */
  def describe(value: ZoneValue): String = {
    val result = key.result(value).flatMap(r => Option(r)).flatMap(BoundLiteral.of(_, order.child.dataType))
    s"${ExpressionSql.of(order.child)} ${if (best) ">=" else "<="} ${result.fold("its bound")(ExpressionSql.of)}"
  }
}

private[zonemap] object MonotoneSort {

  /** Returns the function of a sort key of the columns' relation, if it consists of monotone functions of one column. */
  def of(order: SortOrder, columns: ColumnResolver): Option[MonotoneSort] =
    for {
      (column, key) <- MonotoneKey.functionOf(order.child, columns)
      increasing <- key.increasing
    } yield new MonotoneSort(order, key, increasing, column)
}
