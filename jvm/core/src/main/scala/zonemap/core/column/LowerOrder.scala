// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

/**
 * The rows of a column of longs, grouped by the gap between boundaries in which their lower bounds lie. With this
 * order, an evaluation finds the rows whose bounds include a number without reading the other rows. Each row also
 * records in which part of the gap its bounds lie, which decides most rows without their exact bounds. Immutable,
 * thread-safe.
 *
 * Only rows that may hold a value, have both bounds, and whose bounds lie in gaps close to one another are grouped; the
 * rest are the `others`.
 *
 * @param dictionary the boundaries
 * @param starts by gap, see [[Dictionary.gap]]: the position of its first row in `rows`; its rows end at the start of
 *   the next gap
 * @param parts for each position in `rows`: the part of the lower bound, times 256, plus the part of the upper bound
 * @param shifts by gap: the shift of [[LongDictionary.partShift]]
 * @param reaches by gap: the largest number of gaps between it and the upper bounds of its rows; 0 if they end in it or
 *   at the boundary behind it
 * @param others the rows that are not in `rows`
 */
final private[core] class LowerOrder private (
    val dictionary: LongDictionary,
    starts: Array[Int],
    rows: Array[Int],
    parts: Array[Char],
    shifts: Array[Byte],
    reaches: Array[Byte],
    val others: Array[Int]) {

  /**
   * The position of a gap's first row. The rows whose lower bound lies in the gap have the positions from `start(gap)`
   * to `start(gap + 1)`, exclusive.
   */
  def start(gap: Int): Int = starts(gap)

  def row(place: Int): Int = rows(place)

  def lowerPart(place: Int): Int = parts(place) >>> 8

  /**
   * The part of the upper bound: [[LowerOrder.AtEnd]] if it equals the boundary behind the gap, [[LowerOrder.Beyond]]
   * if it is greater.
   */
  def upperPart(place: Int): Int = parts(place) & 0xff

  /** The part of the gap that holds a number. */
  def part(gap: Int, number: Long): Int = LowerOrder.part(shifts(gap), number - dictionary.floor(2 * gap))

  /**
   * Whether a row whose lower bound lies in gap `from` may have its upper bound in gap `to` or above. An upper bound
   * that equals the boundary behind gap `from` does not count.
   */
  def mayReach(from: Int, to: Int): Boolean = reaches(from) >= to - from

  def bytes: Long =
    4L * (starts.length + rows.length + others.length) + 2L * parts.length + shifts.length + reaches.length
}

private[core] object LowerOrder {

  /** A row whose bounds are more gaps apart than this is one of the others. */
  val Reach = 4

  /** The part of an upper bound that equals the boundary behind the gap; parts within the gap are lower. */
  val AtEnd = 254

  /** The part of an upper bound above that boundary. */
  val Beyond = 255

  /**
   * The order is made if at most one row in this many is one of the others, because each of the others is evaluated for
   * every leaf.
   */
  private val OthersShare = 128

  private def part(shift: Byte, distance: Long): Int = {
    val part = distance >>> shift
    if (part < 0 || part > Beyond) Beyond else part.toInt
  }

  private val isPlain: Array[Boolean] = Array.tabulate(BoundsFlags.Values) { flags =>
    BoundsFlags.hasLower(flags) && BoundsFlags.hasUpper(flags) && BoundsFlags.mayHoldValues(flags)
  }

  /** The order of the rows of a column; None if too many rows are others. O(rows). */
  private[core] def of(
      column: BoundsColumn,
      dictionary: LongDictionary,
      bounds: LongBounds,
      rows: Int): Option[LowerOrder] = {
    val making = new Making(column, dictionary, rows)
    Option.when(making.others <= rows / OthersShare)(making.order(bounds))
  }

  /** Makes the order in two passes over the rows, block by block, as codes and bounds are stored. */
  private final class Making(column: BoundsColumn, dictionary: LongDictionary, rows: Int) {
    private val block = new ExactRows(Blocks.BlockRows)
    private val lowerLanes = new Array[Long](CodeLanes.length(Blocks.BlockRows))
    private val upperLanes = new Array[Long](CodeLanes.length(Blocks.BlockRows))

    /**
     * The gap of each row. It is 0 for the others, because a present lower bound never lies below the first boundary.
     */
    private val gaps = new Array[Char](rows)
    private val reaches = new Array[Byte](dictionary.size + 1)

    /** The number of rows of gap g, at index g + 1. */
    private val counts = new Array[Int](dictionary.size + 2)

    val others: Int = (0 until rows by Blocks.BlockRows).map(countFrom).sum

    /** Counts the rows of a block by their gaps, and returns how many are others. */
    private def countFrom(first: Int): Int = {
      readCodes(first)
      var others = 0
      var i = 0
      while (i < block.size) {
        val gap = Dictionary.gap(block.lowerCodes(i).toInt)
        val upperCode = block.upperCodes(i).toInt
        val reach = if (upperCode == endOf(gap)) 0 else Dictionary.gap(upperCode) - gap
        if (isPlain(block.flags(i).toInt) && gap > 0 && reach >= 0 && reach <= Reach) {
          gaps(first + i) = gap.toChar
          counts(gap + 1) += 1
          if (reach > reaches(gap)) reaches(gap) = reach.toByte
        } else others += 1
        i += 1
      }
      others
    }

    /** The code of the boundary behind a gap. */
    private def endOf(gap: Int): Int = 2 * gap + 1

    private def readCodes(first: Int): Unit = {
      block.size = Math.min(Blocks.BlockRows, rows - first)
      column.lowerCodes.copy(first / Blocks.BlockRows, block.size, lowerLanes)
      column.upperCodes.copyBeside(first / Blocks.BlockRows, block.size, upperLanes, lowerLanes)
      column.copyFlags(first, block.size, block.flags)
      var i = 0
      while (i < block.size) {
        block.rows(i) = first + i
        block.lowerCodes(i) = CodeLanes.get(lowerLanes, i).toChar
        block.upperCodes(i) = CodeLanes.get(upperLanes, i).toChar
        i += 1
      }
    }

    def order(bounds: LongBounds): LowerOrder = {
      (1 until counts.length).foreach(gap => counts(gap) += counts(gap - 1))
      val next = counts.clone()
      val shifts = Array.tabulate(dictionary.size + 1)(dictionary.partShift(_, AtEnd).toByte)
      val ordered = new Array[Int](rows - others)
      val parts = new Array[Char](rows - others)
      (0 until rows by Blocks.BlockRows).foreach { first =>
        readCodes(first)
        bounds.readDistances(block)
        var i = 0
        while (i < block.size) {
          val gap = gaps(first + i).toInt
          if (gap > 0) {
            val place = next(gap)
            next(gap) = place + 1
            val upperCode = block.upperCodes(i).toInt
            val upperPart =
              if (upperCode == endOf(gap)) AtEnd
              else if (Dictionary.gap(upperCode) > gap) Beyond
              else part(shifts(gap), block.uppers(i))
            ordered(place) = first + i
            parts(place) = (part(shifts(gap), block.lowers(i)) << 8 | upperPart).toChar
          }
          i += 1
        }
      }
      new LowerOrder(dictionary, counts, ordered, parts, shifts, reaches, gaps.indices.filter(gaps(_) == 0).toArray)
    }
  }
}
