// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import java.util.TreeMap

import scala.jdk.CollectionConverters._

import zonemap.core.value.{LongValue, ZoneValue}

/**
 * Joins values into ranges across the smallest gaps, so that the widest gaps remain. Gaps are differences of encoded
 * values; the builder supports only values that are encoded as longs.
 */
final private[fact] class RangesBuilder extends FactBuilder {
  import RangesBuilder._

  /** The last value of each range, by its first value. */
  private val ranges = new TreeMap[Long, Long]
  private var hasNulls = false
  private var hasNaN = false
  private var lastFirst = 1L
  private var lastLast = 0L

  override def addNull(): Unit = hasNulls = true
  override def addNaN(): Unit = hasNaN = true

  override def add(value: ZoneValue): Unit = value match {
    case LongValue(v) => if (v < lastFirst || v > lastLast) place(v)
    case other        => throw new IllegalArgumentException(s"no distance of $other")
  }

  private def place(value: Long): Unit = {
    val below = ranges.floorEntry(value)
    if (below == null || below.getValue < value) {
      ranges.put(value, value)
      if (ranges.size > MaxOpen) join(MaxOpen / 2)
    }
    val holder = ranges.floorEntry(value)
    lastFirst = holder.getKey
    lastLast = holder.getValue
  }

  /** Joins ranges until at most `limit` remain and none touch. */
  private def join(limit: Int): Unit =
    if (ranges.size > 1) {
      val all = ranges.entrySet().asScala.toVector.map(e => (e.getKey, e.getValue))
      def gap(i: Int) = all(i)._1 - all(i - 1)._2
      val gaps = all.indices.tail.filter(gap(_) != 1).sortWith { (i, j) =>
        java.lang.Long.compareUnsigned(gap(i), gap(j)) > 0
      }
      val starts = (all.indices.head +: gaps.take(limit - 1)).sorted
      ranges.clear()
      starts.zip(starts.tail :+ all.size).foreach { case (from, until) =>
        ranges.put(all(from)._1, all(until - 1)._2)
      }
    }

  override def build(): Array[Byte] = {
    join(MaxRanges)
    val pairs = ranges.entrySet().asScala.toVector.map(e => (LongValue(e.getKey), LongValue(e.getValue)))
    FactCodec.encodeRanges(pairs, hasNulls, hasNaN)
  }
}

private object RangesBuilder {
  private val MaxRanges = 16

  /** The largest number of ranges while values are added; `build` then joins them until [[MaxRanges]] remain. */
  private val MaxOpen = 512
}
