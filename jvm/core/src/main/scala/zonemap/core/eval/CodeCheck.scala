package zonemap.core.eval

import zonemap.core.segment.{CodeLanes, Dictionary}

/** A yes-or-no question about intervals [lower code, upper code], answered for the zones of a buffer at once. Immutable. */
abstract private[eval] class CodeCheck {

  /** Whether `check` can leave a zone open at all. */
  def mayBeOpen: Boolean

  /** Whether the codes of a side are looked at; if not, they may be anything. */
  def readsLower: Boolean = true
  def readsUpper: Boolean = true

  /**
   * Sets `bits` where the codes prove a yes and, if `mayBeOpen`, `open` at least where it may be a yes all the same: a
   * bound and a literal share an even code. What is proven may be open or not. Bits behind `count` are of no meaning.
   */
  def check(zones: ZoneBuffer, count: Int): Unit
}

/** Never proven. */
private[eval] object NeverProven extends CodeCheck {
  override def mayBeOpen: Boolean = false
  override def readsLower: Boolean = false
  override def readsUpper: Boolean = false

  override def check(zones: ZoneBuffer, count: Int): Unit = java.util.Arrays.fill(zones.bits, 0, (count + 63) >> 6, 0L)
}

/**
 * A check whether one side is at least `start` and the other at most `end`, four rows at a time; `openStart` and `openEnd`
 * are the even codes that leave it open, or -1.
 */
final private[eval] case class CodeRange(start: Int, end: Int, openStart: Int, openEnd: Int) {
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

/** Proven when upper < start or lower > end: the interval lies outside a range of values. */
final private[eval] class RangeMisses(range: CodeRange) extends CodeCheck {
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

/** Proven when lower >= start and upper <= end: the interval lies inside a range of values. */
final private[eval] class RangeContains(range: CodeRange) extends CodeCheck {
  override def mayBeOpen: Boolean = range.mayBeOpen
  override def readsLower: Boolean = range.readsStart
  override def readsUpper: Boolean = range.readsEnd

  override def check(zones: ZoneBuffer, count: Int): Unit = range.check(zones.lower, zones.upper, count, zones)
}

/** Leaves every yes of another check open: for bounds whose order the codes do not settle. */
final private[eval] class Deferred(deferred: CodeCheck) extends CodeCheck {
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
