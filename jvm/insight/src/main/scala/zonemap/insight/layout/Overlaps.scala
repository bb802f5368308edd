// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.layout

/**
 * Counts, for each of n closed intervals, the intervals that share a point with it, and its depth.
 *
 * The depth of an interval is the greatest number of intervals, itself included, that share one point of it. Computing
 * both takes O(n log n) time and O(n) memory. Immutable.
 *
 * @param counts the number of other intervals that share a point with interval i
 * @param depths the depth of interval i, at least 1
 */
final private[zonemap] class Overlaps private (val counts: Array[Int], val depths: Array[Int]) {

  /** The number of other intervals that an interval overlaps, on average; 0 without intervals. */
  def averageCount: Double = Overlaps.average(counts)

  /** The depth of an interval, on average; 0 without intervals. */
  def averageDepth: Double = Overlaps.average(depths)
}

private[zonemap] object Overlaps {

  /**
   * @param intervals intervals whose ends are ranks
   * @return the overlaps, in the order of the intervals
   */
  def of(intervals: RankedIntervals): Overlaps = {
    val n = intervals.size
    val (startsUpTo, endsBelow) = cumulated(intervals)
    val deepest = new RangeMaximum(Array.tabulate(intervals.ranks)(rank => startsUpTo(rank) - endsBelow(rank)))
    val (counts, depths) = (new Array[Int](n), new Array[Int](n))
    var i = 0
    while (i < n) {
      val (lower, upper) = (intervals.lower(i), intervals.upper(i))
      counts(i) = startsUpTo(upper) - endsBelow(lower) - 1
      depths(i) = deepest.between(lower, upper)
      i += 1
    }
    new Overlaps(counts, depths)
  }

  /** For each rank, the number of intervals that start at it or below, and the number that end below it. */
  private def cumulated(intervals: RankedIntervals): (Array[Int], Array[Int]) = {
    val (starts, ends) = (new Array[Int](intervals.ranks), new Array[Int](intervals.ranks + 1))
    var i = 0
    while (i < intervals.size) {
      starts(intervals.lower(i)) += 1
      ends(intervals.upper(i) + 1) += 1
      i += 1
    }
    var rank = 1
    while (rank < intervals.ranks) {
      starts(rank) += starts(rank - 1)
      ends(rank) += ends(rank - 1)
      rank += 1
    }
    (starts, ends)
  }

  private def average(values: Array[Int]): Double =
    if (values.isEmpty) 0.0 else values.iterator.map(_.toLong).sum.toDouble / values.length
}

/** The greatest of a range of numbers, in O(log n), from a tree of maxima in an array. */
private final class RangeMaximum(values: Array[Int]) {
  private val size = values.length
  private val tree = new Array[Int](2 * size)

  System.arraycopy(values, 0, tree, size, size)
  (size - 1 to 1 by -1).foreach(node => tree(node) = Math.max(tree(2 * node), tree(2 * node + 1)))

  /** The greatest number from `first` to `last`, both included. */
  def between(first: Int, last: Int): Int = {
    var (low, high) = (first + size, last + size + 1)
    var most = Int.MinValue
    while (low < high) {
      if ((low & 1) == 1) {
        most = Math.max(most, tree(low))
        low += 1
      }
      if ((high & 1) == 1) {
        high -= 1
        most = Math.max(most, tree(high))
      }
      low /= 2
      high /= 2
    }
    most
  }
}
