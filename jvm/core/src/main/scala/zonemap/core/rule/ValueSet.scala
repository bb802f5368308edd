// SPDX-License-Identifier: Apache-2.0
package zonemap.core.rule

import java.util.Arrays

import zonemap.core.predicate.{SortedValues, ValueRanges}
import zonemap.core.value.{UuidOrder, ZoneValue}

/**
 * The values that a leaf compares with. The interval [lower, upper] of a zone is compared with the set; a null bound is
 * absent. Immutable.
 */
sealed private[core] trait ValueSet {

  /** True if it is proven that no value of the interval is in the set. */
  def misses(lower: ZoneValue, upper: ZoneValue): Boolean

  /** True if it is proven that every value of the interval is in the set. */
  def contains(lower: ZoneValue, upper: ZoneValue): Boolean
}

/** An end of an interval. */
final private[core] case class Endpoint(value: ZoneValue, inclusive: Boolean)

final private[core] case class Interval(start: Option[Endpoint], end: Option[Endpoint]) extends ValueSet {

  override def misses(lower: ZoneValue, upper: ZoneValue): Boolean =
    (upper != null && start.exists(!above(upper, _))) || (lower != null && end.exists(!below(lower, _)))

  override def contains(lower: ZoneValue, upper: ZoneValue): Boolean =
    start.forall(s => lower != null && above(lower, s)) && end.forall(e => upper != null && below(upper, e))

  private def above(value: ZoneValue, start: Endpoint): Boolean = {
    val order = value.compare(start.value)
    order > 0 || (order == 0 && start.inclusive)
  }

  private def below(value: ZoneValue, end: Endpoint): Boolean = {
    val order = value.compare(end.value)
    order < 0 || (order == 0 && end.inclusive)
  }
}

private[core] object Interval {
  def point(value: ZoneValue): Interval =
    Interval(Some(Endpoint(value, inclusive = true)), Some(Endpoint(value, inclusive = true)))
  def from(value: ZoneValue, inclusive: Boolean): Interval = Interval(Some(Endpoint(value, inclusive)), None)
  def to(value: ZoneValue, inclusive: Boolean): Interval = Interval(None, Some(Endpoint(value, inclusive)))
}

final private[core] case class Elements(values: SortedValues) extends ValueSet {

  override def misses(lower: ZoneValue, upper: ZoneValue): Boolean = !values.intersects(lower, upper)

  override def contains(lower: ZoneValue, upper: ZoneValue): Boolean =
    lower != null && lower == upper && values.contains(lower)
}

/** A set of several ranges; [[Ranges.set]] makes a single range an [[Interval]]. */
final private[core] case class Ranges(ranges: ValueRanges) extends ValueSet {

  override def misses(lower: ZoneValue, upper: ZoneValue): Boolean = !ranges.intersects(lower, upper)

  override def contains(lower: ZoneValue, upper: ZoneValue): Boolean = ranges.contains(lower, upper)
}

private[core] object Ranges {

  /** The set of these ranges that is cheapest to evaluate. */
  def set(ranges: ValueRanges): ValueSet =
    if (ranges.size != 1) Ranges(ranges)
    else
      Interval(
        Option(ranges(0).from).map(Endpoint(_, inclusive = true)),
        Option(ranges(0).until).map(Endpoint(_, inclusive = false)))
}

/**
 * A set of uuids. An interval misses the set only if it does so in both orders of uuids (signed and unsigned) and its
 * bounds are usable.
 */
final private[core] case class UuidElements(values: SortedValues) extends ValueSet {

  private val signedOrder: Array[ZoneValue] = {
    val sorted = values.iterator.toArray
    Arrays.sort(sorted, UuidOrder.signed)
    sorted
  }

  override def misses(lower: ZoneValue, upper: ZoneValue): Boolean =
    values.isEmpty ||
      (UuidOrder.usable(lower, upper) && !values.intersects(lower, upper) && missesSigned(lower, upper))

  private def missesSigned(lower: ZoneValue, upper: ZoneValue): Boolean = {
    val order = UuidOrder.signed
    val found = Arrays.binarySearch(signedOrder, lower, order)
    val first = if (found >= 0) found else -(found + 1)
    first == signedOrder.length || order.gt(signedOrder(first), upper)
  }

  override def contains(lower: ZoneValue, upper: ZoneValue): Boolean = false
}
