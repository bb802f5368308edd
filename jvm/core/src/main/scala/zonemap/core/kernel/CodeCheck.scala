// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import zonemap.core.column.{CodeLanes, Dictionary}

/** Checks for each zone of a buffer whether its interval [lower code, upper code] proves a property. Immutable. */
abstract private[kernel] class CodeCheck {

  /** Whether `check` may set bits of `open`: zones for which codes alone cannot decide. */
  def mayBeOpen: Boolean

  /** Whether `check` reads the lower (upper) codes; the caller need not fill in codes that are not read. */
  def readsLower: Boolean = true
  def readsUpper: Boolean = true

  /**
   * Sets the bit of a zone in `bits` if its codes prove the property. If `mayBeOpen`, `check` also sets the bit in
   * `open` of every zone whose codes do not prove the property though its exact bounds may, because a bound and a
   * literal share an even code. The bit of a proven zone in `open` is arbitrary, and so are all bits from `count` on.
   */
  def check(zones: ZoneBuffer, count: Int): Unit
}

/** A check that proves nothing. */
private[kernel] object NeverProven extends CodeCheck {
  override def mayBeOpen: Boolean = false
  override def readsLower: Boolean = false
  override def readsUpper: Boolean = false

  override def check(zones: ZoneBuffer, count: Int): Unit = java.util.Arrays.fill(zones.bits, 0, (count + 63) >> 6, 0L)
}

/**
 * Checks, four rows at a time, whether the codes of one side are at least `start` and the codes of the other at most
 * `end`. `openStart` and `openEnd` are the even codes of the literals, for which exact bounds must decide, or -1.
 */
final private[kernel] case class CodeRange(start: Int, end: Int, openStart: Int, openEnd: Int) {
  def readsStart: Boolean = start > 0
  def readsEnd: Boolean = end < Dictionary.NoUpper
  def mayBeOpen: Boolean = openStart >= 0 || openEnd >= 0

  def check(ofStart: Array[Long], ofEnd: Array[Long], count: Int, zones: ZoneBuffer): Unit = {
    val length = CodeLanes.length(count)
    if (readsStart) CodeLanes.atLeast(ofStart, start, length, zones.lanes)
    else java.util.Arrays.fill(zones.lanes, 0, length, -1L)
    if (readsEnd) CodeLanes.andBelow(ofEnd, end + 1, length, zones.lanes)
    CodeLanes.bits(zones.lanes, length, zones.bits)
    if (mayBeOpen) {
      java.util.Arrays.fill(zones.open, 0, (count + 63) >> 6, 0L)
      if (openStart >= 0) same(ofStart, openStart, length, zones)
      if (openEnd >= 0) same(ofEnd, openEnd, length, zones)
    }
  }

  private def same(codes: Array[Long], code: Int, length: Int, zones: ZoneBuffer): Unit =
    if (CodeLanes.equal(codes, code, length, zones.lanes)) CodeLanes.addFewBits(zones.lanes, length, zones.open)
}

/**
 * Proven when upper < start or lower > end: no value v of the zone then lies in the range [start, end], because lower
 * <= v <= upper.
 */
final private[kernel] class RangeMisses(range: CodeRange) extends CodeCheck {
  override def mayBeOpen: Boolean = range.mayBeOpen
  override def readsLower: Boolean = range.readsEnd
  override def readsUpper: Boolean = range.readsStart

  override def check(zones: ZoneBuffer, count: Int): Unit = {
    range.check(zones.upper, zones.lower, count, zones)
    var word = 0
    while (word < ((count + 63) >> 6)) {
      zones.bits(word) = ~zones.bits(word)
      word += 1
    }
  }
}

/**
 * Proven when lower >= start and upper <= end: every value v of the zone then lies in the range [start, end], because
 * lower <= v <= upper.
 */
final private[kernel] class RangeContains(range: CodeRange) extends CodeCheck {
  override def mayBeOpen: Boolean = range.mayBeOpen
  override def readsLower: Boolean = range.readsStart
  override def readsUpper: Boolean = range.readsEnd

  override def check(zones: ZoneBuffer, count: Int): Unit = range.check(zones.lower, zones.upper, count, zones)
}

/**
 * Turns every proof of another check into an open zone. Used where the order of codes is not the only order of the
 * values (uuids).
 */
final private[kernel] class Deferred(deferred: CodeCheck) extends CodeCheck {
  override def mayBeOpen: Boolean = true

  override def check(zones: ZoneBuffer, count: Int): Unit = {
    val words = (count + 63) >> 6
    java.util.Arrays.fill(zones.open, 0, words, 0L)
    deferred.check(zones, count)
    var word = 0
    while (word < words) {
      zones.open(word) |= zones.bits(word)
      zones.bits(word) = 0L
      word += 1
    }
  }
}
