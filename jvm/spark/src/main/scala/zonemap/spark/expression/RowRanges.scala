// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import zonemap.core.predicate.{CompareOp, ValueRanges}

/**
 * The values that satisfy all comparisons of at least one of several rows, each with its own literals.
 *
 * @param ranges at least the values, in at most `MaxRanges` ranges
 * @param nan whether NaN is among them
 */
private[zonemap] final case class RowRanges(ranges: ValueRanges, nan: Boolean)

private[zonemap] object RowRanges {

  /** Each range is compared with each file, so a few hundred cost about as much as the keys of a small join. */
  private val MaxRanges = 256

  /** @param rows the comparisons `value op literal` of each row */
  def of(rows: Iterator[Seq[(CompareOp, Encoded)]]): RowRanges = {
    val wanted = rows.map { comparisons =>
      comparisons.iterator
        .map { case (op, literal) => Wanted.compared(op, literal) }
        .reduceOption((a, b) => Wanted(a.ranges.intersect(b.ranges), a.nan && b.nan, nulls = false))
        .getOrElse(Wanted.notNull)
    }.toSeq
    RowRanges(ValueRanges.of(wanted.iterator.flatMap(_.ranges.iterator)).atMost(MaxRanges), wanted.exists(_.nan))
  }
}
