// SPDX-License-Identifier: Apache-2.0
package zonemap.core.predicate

import zonemap.core.value.{BytesValue, LongValue, ZoneValue}

/** The values from `from` (included) to `until` (excluded); null means no end on that side. Never empty. */
final private[zonemap] case class ValueRange(from: ZoneValue, until: ZoneValue) {
  require(from == null || until == null || from.compare(until) < 0, s"[$from, $until) is empty")

  def isEverything: Boolean = from == null && until == null

  /** Whether the range is a single value. */
  def isPoint: Boolean = from != null && until == ValueRanges.successor(from)
}

/**
 * An immutable sorted set of ranges of values of one encoding; ranges neither overlap nor touch. Tests of an interval
 * are binary searches: O(log n). Thread-safe.
 */
final private[zonemap] class ValueRanges private (private val ranges: Array[ValueRange]) {

  def size: Int = ranges.length

  def isEmpty: Boolean = ranges.isEmpty

  def isEverything: Boolean = ranges.length == 1 && ranges(0).isEverything

  def apply(index: Int): ValueRange = ranges(index)

  def iterator: Iterator[ValueRange] = ranges.iterator

  def contains(value: ZoneValue): Boolean = contains(value, value)

  /** True if a range overlaps [lower, upper]; null means no bound on that side. */
  def intersects(lower: ZoneValue, upper: ZoneValue): Boolean = {
    val index = firstEndingAbove(lower)
    index < ranges.length && startsBy(ranges(index), upper)
  }

  /** True if one range contains all of [lower, upper]. */
  def contains(lower: ZoneValue, upper: ZoneValue): Boolean = {
    val index = firstEndingAbove(lower)
    index < ranges.length && {
      val range = ranges(index)
      (range.from == null || (lower != null && range.from.compare(lower) <= 0)) &&
      (range.until == null || (upper != null && upper.compare(range.until) < 0))
    }
  }

  /** Returns the union of both sets. */
  def union(that: ValueRanges): ValueRanges = ValueRanges.of(ranges.iterator ++ that.ranges.iterator)

  /** Returns the values that are in no range. */
  def complement: ValueRanges = {
    val befores = ranges.iterator.filter(_.from != null).map(_.from)
    val starts = ranges.iterator.filter(_.until != null).map(_.until)
    val first = if (ranges.headOption.exists(_.from == null)) Iterator.empty else Iterator.single[ZoneValue](null)
    ValueRanges.of((first ++ starts).zipAll(befores, null, null).map { case (from, until) => ValueRange(from, until) })
  }

  def intersect(that: ValueRanges): ValueRanges = complement.union(that.complement).complement

  /** Returns a superset in at most `limit` ranges, by joining the ranges with the smallest gaps between them. */
  def atMost(limit: Int): ValueRanges =
    if (size <= limit) this
    else {
      val widest = (1 until size).sortBy(i => ValueRanges.descendingGap(ranges(i - 1).until, ranges(i).from, shared))
      val starts = 0 +: widest.take(limit - 1).sorted
      val ends = starts.tail.map(_ - 1) :+ size - 1
      ValueRanges.of(starts.iterator.zip(ends.iterator).map { case (first, last) =>
        ValueRange(ranges(first).from, ranges(last).until)
      })
    }

  /** Returns the number of leading bytes that all inner ends share; gaps are measured after them. */
  private lazy val shared: Int = {
    val ends = ranges.iterator.flatMap(r => Iterator(r.from, r.until)).collect { case BytesValue(bytes) => bytes }.toSeq
    if (ends.isEmpty) 0
    else
      ends.tail.foldLeft(ends.head.length) { (common, bytes) =>
        val differs = java.util.Arrays.mismatch(ends.head, bytes)
        if (differs < 0) common else Math.min(common, differs)
      }
  }

  private def startsBy(range: ValueRange, upper: ZoneValue): Boolean =
    range.from == null || upper == null || range.from.compare(upper) <= 0

  /** Returns the index of the first range that ends above `lower`, or `size`. */
  private def firstEndingAbove(lower: ZoneValue): Int =
    if (lower == null) 0
    else {
      var low = 0
      var high = ranges.length
      while (low < high) {
        val middle = (low + high) >>> 1
        val until = ranges(middle).until
        if (until != null && until.compare(lower) <= 0) low = middle + 1 else high = middle
      }
      low
    }

  override def equals(other: Any): Boolean = other match {
    case that: ValueRanges => ranges.sameElements(that.ranges)
    case _                 => false
  }

  override def hashCode: Int = ranges.toSeq.hashCode

  override def toString: String = ranges.map(r => s"[${r.from}, ${r.until})").mkString("ValueRanges(", ", ", ")")
}

private[zonemap] object ValueRanges {
  val empty: ValueRanges = new ValueRanges(Array.empty)
  val everything: ValueRanges = new ValueRanges(Array(ValueRange(null, null)))

  /** Sorts ranges, and joins ranges that overlap or touch: O(n log n). */
  def of(ranges: IterableOnce[ValueRange]): ValueRanges = {
    val sorted = ranges.iterator.toArray.sortWith((a, b) => a.from == null && b.from != null || below(a.from, b.from))
    val out = scala.collection.mutable.ArrayBuffer.empty[ValueRange]
    sorted.foreach { next =>
      out.lastOption match {
        case Some(last) if last.until == null || next.from == null || next.from.compare(last.until) <= 0 =>
          out(out.size - 1) = ValueRange(last.from, later(last.until, next.until))
        case _ => out += next
      }
    }
    new ValueRanges(out.toArray)
  }

  /** Returns [from, until), or the empty set if it contains no value. */
  def between(from: ZoneValue, until: ZoneValue): ValueRanges =
    if (from != null && until != null && from.compare(until) >= 0) empty else of(Seq(ValueRange(from, until)))

  /** Every value from the first to the last, both included. */
  def closed(first: ZoneValue, last: ZoneValue): ValueRanges = between(first, successor(last))

  def point(value: ZoneValue): ValueRanges = closed(value, value)

  /** Returns the next value of the encoding, or null after the last value; null stays null. */
  def successor(value: ZoneValue): ZoneValue = value match {
    case null                     => null
    case LongValue(Long.MaxValue) => null
    case LongValue(v)             => LongValue(v + 1)
    case BytesValue(bytes)        => BytesValue(java.util.Arrays.copyOf(bytes, bytes.length + 1))
  }

  /** Returns the ranges with re-encoded ends, or None if an end has no value in the other encoding. */
  def reencode(ranges: ValueRanges, encode: ZoneValue => Option[ZoneValue]): Option[ValueRanges] = {
    def end(value: ZoneValue): Option[ZoneValue] = if (value == null) Some(null) else encode(value)
    val out = ranges.iterator.map(r => for (f <- end(r.from); u <- end(r.until)) yield between(f, u)).toSeq
    Option.when(out.forall(_.isDefined))(of(out.iterator.flatMap(_.get.iterator)))
  }

  /** Orders gaps of one encoding, the widest first; for bytes the widths are approximate. */
  private def descendingGap(until: ZoneValue, from: ZoneValue, shared: Int): Long = (until, from) match {
    case (LongValue(low), LongValue(high))   => descending(high - low)
    case (BytesValue(low), BytesValue(high)) => descending(leading(high, shared) - leading(low, shared))
    case _                                   => 0L
  }

  /** Differences compare as unsigned numbers, since they may exceed the positive longs. */
  private def descending(difference: Long): Long = ~(difference + Long.MinValue)

  private def leading(bytes: Array[Byte], offset: Int): Long =
    (offset until offset + 8).foldLeft(0L)((value, i) => (value << 8) | (if (i < bytes.length) bytes(i) & 0xff else 0))

  private def below(left: ZoneValue, right: ZoneValue): Boolean =
    left != null && right != null && left.compare(right) < 0

  private def later(left: ZoneValue, right: ZoneValue): ZoneValue =
    if (left == null || right == null) null else if (left.compare(right) >= 0) left else right
}
