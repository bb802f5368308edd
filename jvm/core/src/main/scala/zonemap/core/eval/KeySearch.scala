package zonemap.core.eval

import zonemap.core.segment.{BoundsColumn, Dictionary, LongBounds, LowerOrder}

/** A column whose rows are in order, and its exact bounds. Belongs to one evaluation. */
final private[eval] class OrderedRows(val column: BoundsColumn, val order: LowerOrder) {
  val bounds: LongBounds = column.longs().get
}

/** Finds the rows of an order whose bounds hold a number. Belongs to one evaluation; not thread-safe. */
private[eval] trait KeySearch {

  /** Sets the bits of these rows. */
  def find(found: Bitmap): Unit
}

/** Looks for one number after the other, where there are few of them: the other rows are not looked at. */
final private[eval] class KeyLookup(ordered: OrderedRows, keys: Array[Long]) extends KeySearch {
  import ordered.{bounds, column, order}

  override def find(found: Bitmap): Unit = {
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

/**
 * Goes through all rows in their order, where numbers are so many that most gaps have some. Bits for each gap say in
 * which parts of it numbers are: one in a part between those of a row's bounds is a hit, one in a part of a bound leaves
 * the row open. Open rows are gathered, so that they wait for their bounds together.
 */
final private[eval] class KeySweep(ordered: OrderedRows, keys: Array[Long]) extends KeySearch {
  import KeySweep._
  import ordered.{bounds, column, order}

  private val gaps = order.dictionary.size + 1

  /** By gap: where its numbers start in `keys`. */
  private val starts = new Array[Int](gaps + 1)

  /** By gap and part, with a word behind the last. */
  private val parts = new Array[Long](gaps * GapParts / 64 + 1)

  setKeys()
  setEnds()

  private def setKeys(): Unit = {
    val codes = order.dictionary.codesOf(keys)
    var gap = 0
    var i = 0
    while (i < keys.length) {
      val own = Dictionary.gap(codes(i))
      while (gap < own) {
        gap += 1
        starts(gap) = i
      }
      if (Dictionary.isExact(codes(i))) setPart(own - 1, LowerOrder.AtEnd)
      setPart(own, order.part(own, keys(i)))
      i += 1
    }
    java.util.Arrays.fill(starts, gap + 1, starts.length, keys.length)
  }

  /** Numbers of later gaps leave rows open that end there. */
  private def setEnds(): Unit = {
    var gap = 0
    while (gap < gaps) {
      if (order.mayReach(gap, gap + 1)) setPart(gap, LowerOrder.Beyond)
      gap += 1
    }
  }

  private def setPart(gap: Int, part: Int): Unit = {
    val bit = gap * GapParts + part
    parts(bit >>> 6) |= 1L << bit
  }

  override def find(found: Bitmap): Unit = {
    val open = new OpenRows(found)
    var gap = 0
    while (gap < gaps) {
      var place = order.start(gap)
      while (place < order.start(gap + 1)) {
        val end = Math.min(order.start(gap + 1), place + Step)
        open.makeRoom(end - place)
        findIn(gap, place, end, found, open)
        place = end
      }
      gap += 1
    }
    open.settle()
  }

  /** Rows of one gap. No branch but for hits: whether a row is open is a guess that one would lose. */
  private def findIn(gap: Int, from: Int, until: Int, found: Bitmap, open: OpenRows): Unit = {
    val (places, gapsOfPlaces) = (open.places, open.gaps)
    var count = open.count
    var place = from
    while (place < until) {
      val lower = order.lowerPart(place)
      val width = order.upperPart(place) - lower
      val first = gap * GapParts + lower
      // the bits from that of the lower bound on
      val window = (parts(first >>> 6) >>> first) | ((parts((first >>> 6) + 1) << 1) << ~first)
      val last = 1L << width
      val isWider = (63 - width).toLong >> 63
      val inside = window & ((last - 1) | isWider) & ~1L
      if (inside != 0) found.set(order.row(place))
      places(count) = place
      gapsOfPlaces(count) = gap
      count += (someBit((window & (1L | last)) | isWider) & ~someBit(inside)).toInt
      place += 1
    }
    open.count = count
  }

  private def someBit(bits: Long): Long = (bits | -bits) >>> 63

  /** Rows that parts do not decide; a step is done for all of them before the next one. */
  private final class OpenRows(found: Bitmap) {
    val places = new Array[Int](2 * Step)
    val gaps = new Array[Int](places.length)
    var count = 0

    private val rows = new Array[Int](places.length)
    private val lowers = new Array[Long](places.length)
    private val uppers = new Array[Long](places.length)

    /** @param more at most [[KeySweep.Step]] */
    def makeRoom(more: Int): Unit = if (count + more > places.length) settle()

    def settle(): Unit = {
      read()
      var i = 0
      while (i < count) {
        // numbers of later gaps are above the lower bound
        val key = firstFrom(lowers(i), starts(gaps(i)), starts(gaps(i) + 1))
        if (key < keys.length && keys(key) <= uppers(i)) found.set(rows(i))
        i += 1
      }
      count = 0
    }

    private def read(): Unit = {
      var i = 0
      while (i < count) {
        rows(i) = order.row(places(i))
        lowers(i) = bounds.lower(rows(i), 2 * gaps(i))
        i += 1
      }
      i = 0
      while (i < count) {
        // all codes of a gap have the same floor, all that a bound needs of its code
        val isInGap = order.upperPart(places(i)) < LowerOrder.AtEnd
        val code = if (isInGap || bounds.upperFollows(rows(i))) 2 * gaps(i) else column.upperCodes(rows(i))
        uppers(i) = bounds.upper(rows(i), lowers(i), code)
        i += 1
      }
    }
  }

  private def firstFrom(number: Long, from: Int, until: Int): Int = {
    var low = from
    var high = until
    while (high - low > Few) {
      val middle = (low + high) >>> 1
      if (keys(middle) < number) low = middle + 1 else high = middle
    }
    while (low < high && keys(low) < number) low += 1
    low
  }
}

private object KeySweep {
  private val GapParts = LowerOrder.Beyond + 1

  /** So many numbers are searched from the first on. */
  private val Few = 8

  /** So many rows are looked at before it is seen whether too many are open. */
  private val Step = 1024
}
