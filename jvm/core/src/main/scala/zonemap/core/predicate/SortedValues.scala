// SPDX-License-Identifier: Apache-2.0
package zonemap.core.predicate

import java.util.Arrays

import zonemap.core.value.{LongValue, ZoneValue}

/**
 * An immutable sorted set of values of one encoding. Membership and range tests are binary searches: O(log n).
 * Thread-safe.
 */
final private[zonemap] class SortedValues private (private val values: Array[ZoneValue]) {

  def size: Int = values.length

  def isEmpty: Boolean = values.isEmpty

  def apply(index: Int): ZoneValue = values(index)

  def iterator: Iterator[ZoneValue] = values.iterator

  /**
   * The elements as ascending numbers, computed once; None unless they are longs. Callers must not change the array.
   */
  lazy val longs: Option[Array[Long]] =
    Option.when(values.forall(_.isInstanceOf[LongValue]))(values.map {
      case LongValue(v) => v
      case other        => throw new IllegalStateException(s"$other among longs")
    })

  def contains(value: ZoneValue): Boolean = {
    val index = firstAtLeast(value)
    index < values.length && values(index) == value
  }

  /** True if an element lies in [lower, upper]; null means no bound on that side. */
  def intersects(lower: ZoneValue, upper: ZoneValue): Boolean = {
    val index = if (lower == null) 0 else firstAtLeast(lower)
    index < values.length && (upper == null || values(index).compare(upper) <= 0)
  }

  /** Returns the index of the first element that is >= `value`, or `size`. */
  def firstAtLeast(value: ZoneValue): Int = {
    var low = 0
    var high = values.length
    while (low < high) {
      val middle = (low + high) >>> 1
      if (values(middle).compare(value) < 0) low = middle + 1 else high = middle
    }
    low
  }

  override def equals(other: Any): Boolean = other match {
    case that: SortedValues =>
      Arrays.equals(values.asInstanceOf[Array[AnyRef]], that.values.asInstanceOf[Array[AnyRef]])
    case _ => false
  }

  /** Computed once, since a plan needs it for each segment. */
  override lazy val hashCode: Int = Arrays.hashCode(values.asInstanceOf[Array[AnyRef]])

  override def toString: String = values.mkString("SortedValues(", ", ", ")")
}

private[zonemap] object SortedValues {

  /** Sorts and removes duplicates: O(n log n). */
  def of(values: Iterable[ZoneValue]): SortedValues = {
    val sorted = values.toArray
    Arrays.sort(sorted.asInstanceOf[Array[AnyRef]])
    new SortedValues(distinct(sorted))
  }

  /** Returns the set of values that are their own encoding (int, long, date, timestamps); copies the argument. */
  def ofLongs(values: Array[Long]): SortedValues = {
    val sorted = values.clone()
    Arrays.sort(sorted)
    new SortedValues(distinct(sorted.map(v => LongValue(v): ZoneValue)))
  }

  private def distinct(sorted: Array[ZoneValue]): Array[ZoneValue] = {
    var kept = 0
    for (value <- sorted)
      if (kept == 0 || sorted(kept - 1) != value) {
        sorted(kept) = value
        kept += 1
      }
    Arrays
      .copyOf(sorted.asInstanceOf[Array[AnyRef]], kept, classOf[Array[ZoneValue]].asInstanceOf[Class[Array[AnyRef]]])
      .asInstanceOf[Array[ZoneValue]]
  }
}
