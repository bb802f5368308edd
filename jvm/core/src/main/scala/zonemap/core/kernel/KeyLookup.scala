// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import zonemap.core.column.{Bitmap, BoundsColumn, Dictionary, LongBounds, LowerOrder}

/**
 * Looks up a few numbers, one after another, in the [[LowerOrder]] of a column. It reads only rows whose lower bounds
 * lie in the gap of a number or in one of the few gaps below. Belongs to one evaluation; not thread-safe.
 */
final private[kernel] class KeyLookup(column: BoundsColumn, order: LowerOrder) {
  private val bounds: LongBounds = column.longs().get

  /** Sets the bit of each row whose bounds include one of the keys. */
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

  /** Finds rows whose lower bound lies in the same gap as the key. */
  private def findIn(gap: Int, part: Int, key: Long, found: Bitmap): Unit = {
    val end = order.start(gap + 1)
    var place = order.start(gap)
    while (place < end) {
      val fromLower = part - order.lowerPart(place)
      val toUpper = order.upperPart(place) - part
      // one comparison tests both signs, because the processor would mispredict a branch for each
      if ((fromLower | toUpper) >= 0 && ((fromLower > 0 && toUpper > 0) || holds(order.row(place), gap, gap, key)))
        found.set(order.row(place))
      place += 1
    }
  }

  /**
   * Finds rows whose lower bound lies in the gap `from` below the gap of the key, and whose upper bound lies in `part`
   * or in a later part.
   */
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
    // the floor of the lower code is enough to compute the bound, and all codes of a gap have the same floor
    val lower = bounds.lower(row, 2 * from)
    val upperCode = column.upperCodes(row)
    val upperGap = Dictionary.gap(upperCode)
    lower <= key && (upperGap > gap || (upperGap == gap && bounds.upper(row, lower, upperCode) >= key))
  }
}
