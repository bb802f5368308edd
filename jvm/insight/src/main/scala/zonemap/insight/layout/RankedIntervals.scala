// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.layout

import java.util.{Arrays, Comparator}

import scala.reflect.ClassTag

/**
 * Closed intervals whose ends are replaced by their ranks among all ends: equal ends have equal ranks, and the order is
 * the same. Immutable by contract: callers must not change the arrays.
 *
 * @param lower the rank of the first value of interval i
 * @param upper the rank of the last value of interval i, at least `lower(i)`
 * @param ranks the number of different ends
 */
final private[zonemap] class RankedIntervals private (
    private[layout] val lower: Array[Int],
    private[layout] val upper: Array[Int],
    private[layout] val ranks: Int) {

  def size: Int = lower.length

  /** The intervals of pairs of values, which compare by the values of these intervals first and then by those of `next`. */
  def refinedBy(next: RankedIntervals): RankedIntervals = {
    def pairs(first: Array[Int], second: Array[Int]) =
      Array.tabulate(size)(i => first(i).toLong << 32 | second(i).toLong)
    RankedIntervals.ofLongs(pairs(lower, next.lower), pairs(upper, next.upper))
  }
}

private[zonemap] object RankedIntervals {

  /** Ranks the intervals from `lower(i)` to `upper(i)`, which is not less. O(n log n), without an object a value. */
  def ofLongs(lower: Array[Long], upper: Array[Long]): RankedIntervals = {
    val ends = lower ++ upper
    Arrays.sort(ends)
    var distinct = 0
    ends.indices.foreach { i =>
      if (i == 0 || ends(i) != ends(i - 1)) {
        ends(distinct) = ends(i)
        distinct += 1
      }
    }
    def rank(value: Long): Int = Arrays.binarySearch(ends, 0, distinct, value)
    new RankedIntervals(lower.map(rank), upper.map(rank), distinct)
  }

  /** Ranks the intervals from `lower(i)` to `upper(i)`, which is not less in `order`. O(n log n). */
  def of[A <: AnyRef: ClassTag](lower: Array[A], upper: Array[A], order: Comparator[A]): RankedIntervals = {
    val ends = lower ++ upper
    Arrays.sort(ends, order)
    var distinct = 0
    ends.indices.foreach { i =>
      if (i == 0 || order.compare(ends(i), ends(i - 1)) != 0) {
        ends(distinct) = ends(i)
        distinct += 1
      }
    }
    def rank(value: A): Int = Arrays.binarySearch(ends, 0, distinct, value, order)
    new RankedIntervals(lower.map(rank), upper.map(rank), distinct)
  }
}
