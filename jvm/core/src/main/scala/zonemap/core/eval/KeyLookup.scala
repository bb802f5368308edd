package zonemap.core.eval

import zonemap.core.segment.{BoundsColumn, Dictionary, LongBounds, LowerOrder}

/**
 * Looks up one number after the other in the rows of a column that are in order, where there are few numbers: the other
 * rows are not looked at. Belongs to one evaluation; not thread-safe.
 */
final private[eval] class KeyLookup(column: BoundsColumn, order: LowerOrder) {
  private val bounds: LongBounds = column.longs().get

  /** Sets the bits of the rows whose bounds hold one of the keys. */
  def find(keys: Array[Long], found: Bitmap): Unit = {
    val codes = order.dictionary.codesOf(keys)
    var i = 0
    while (i < keys.length) {
      val gap = Dictionary.gap(codes(i))
      findIn(gap, order.part(gap, keys(i)), keys(i), found)
      if (Dictionary.isExact(codes(i))) findBefore(gap - 1, gap, keys(i), LowerOrder.AtEnd, found)
      var from = Math.max(0, gap - LowerOrder.Reach)
      while (from < gap) {
        if (order.mayReach(from, gap)) findBefore(from, gap, keys(i), LowerOrder.Beyond, found)
        from += 1
      }
      i += 1
    }
  }

  /** Rows that start in the gap of the key. */
  private def findIn(gap: Int, part: Int, key: Long, found: Bitmap): Unit = {
    val end = order.start(gap + 1)
    var place = order.start(gap)
    while (place < end) {
      val fromLower = part - order.lowerPart(place)
      val toUpper = order.upperPart(place) - part
      // both at once: which of them is negative is a guess that a branch loses
      if ((fromLower | toUpper) >= 0 && ((fromLower > 0 && toUpper > 0) || holds(order.row(place), gap, gap, key)))
        found.set(order.row(place))
      place += 1
    }
  }

  /** Rows that start in a gap before that of the key, and whose upper bounds are in some part of it or a later one. */
  private def findBefore(from: Int, gap: Int, key: Long, part: Int, found: Bitmap): Unit = {
    val end = order.start(from + 1)
    var place = order.start(from)
    while (place < end) {
      if (order.upperPart(place) >= part && holds(order.row(place), from, gap, key))
        found.set(order.row(place))
      place += 1
    }
  }

  private def holds(row: Int, from: Int, gap: Int, key: Long): Boolean = {
    // all codes of a gap have the same floor, all that a lower bound needs of its code
    val lower = bounds.lower(row, 2 * from)
    val upperCode = column.upperCodes(row)
    val upperGap = Dictionary.gap(upperCode)
    lower <= key && (upperGap > gap || (upperGap == gap && bounds.upper(row, lower, upperCode) >= key))
  }
}
