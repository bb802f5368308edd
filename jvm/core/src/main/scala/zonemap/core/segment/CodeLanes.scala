package zonemap.core.segment

/**
 * Codes side by side, four a long, the first in the lowest 16 bits. Arithmetic on whole longs is what the compiler
 * vectorises, so that comparing a code costs a fraction of a nanosecond. Lanes behind the last code hold anything.
 */
private[core] object CodeLanes {

  /** The highest bit of each lane. */
  final val Highest = 0x8000800080008000L

  /** Longs that hold `count` codes. */
  def length(count: Int): Int = (count + 3) >> 2

  def get(lanes: Array[Long], i: Int): Int = (lanes(i >> 2) >>> ((i & 3) << 4)).toInt & 0xffff

  def set(lanes: Array[Long], i: Int, code: Int): Unit = {
    val shift = (i & 3) << 4
    lanes(i >> 2) = (lanes(i >> 2) & ~(0xffffL << shift)) | (code & 0xffffL) << shift
  }

  def of(codes: Array[Char]): Array[Long] = {
    val out = new Array[Long](length(codes.length))
    codes.indices.foreach(i => set(out, i, codes(i).toInt))
    out
  }

  /** One code in all lanes. */
  def same(code: Int): Long = (code & 0xffffL) * 0x0001000100010001L

  /** Lane by lane, modulo 2^16. */
  def plus(x: Long, y: Long): Long = ((x & ~Highest) + (y & ~Highest)) ^ ((x ^ y) & Highest)

  /** By how much the [[Dictionary.ordinal]] of x is above that of y, lane by lane, and 2^15 more. */
  def ordinalDistances(x: Array[Long], y: Array[Long], length: Int, out: Array[Long]): Unit = {
    var lane = 0
    while (lane < length) {
      // the highest bits are what is borrowed from, so no lane needs its neighbour
      out(lane) = ((x(lane) >>> 1) | Highest) - ((y(lane) >>> 1) & ~Highest)
      lane += 1
    }
  }

  /** Sets the highest bit of each lane whose code is at least `code`; the other bits are of no meaning. */
  def atLeast(codes: Array[Long], code: Int, length: Int, out: Array[Long]): Unit = {
    val low = same(code & 0x7fff)
    val either = if (code < 0x8000) -1L else 0L
    var lane = 0
    while (lane < length) {
      out(lane) = atLeast(codes(lane), low, either)
      lane += 1
    }
  }

  /** As `atLeast`, for those which are not, and only where the bit is set before. */
  def andBelow(codes: Array[Long], code: Int, length: Int, out: Array[Long]): Unit = {
    val low = same(code & 0x7fff)
    val either = if (code < 0x8000) -1L else 0L
    var lane = 0
    while (lane < length) {
      out(lane) &= ~atLeast(codes(lane), low, either)
      lane += 1
    }
  }

  /** The highest bit stays where the lower 15 are as many as `low` or more; either or both of the two have to be set. */
  private def atLeast(codes: Long, low: Long, either: Long): Long = {
    val isMore = (codes | Highest) - low
    (isMore & codes) | (either & (isMore | codes))
  }

  /** Sets the highest bit of each lane whose code is `code`, of no meaning the others, and says whether there is one. */
  def equal(codes: Array[Long], code: Int, length: Int, out: Array[Long]): Boolean = {
    val all = same(code)
    var any = 0L
    var lane = 0
    while (lane < length) {
      out(lane) = equal(codes(lane), all)
      any |= out(lane)
      lane += 1
    }
    (any & Highest) != 0
  }

  /** The highest bit of each lane in which x == y; the other bits are of no meaning. */
  def equal(x: Long, y: Long): Long = {
    val differing = x ^ y
    ~(((differing & ~Highest) + ~Highest) | differing)
  }

  /** The highest bits of the lanes as the four lowest bits. */
  def bits(lanes: Long): Long =
    // each of the four bits meets one of the factor's so that they come to stand side by side, at the upper end
    ((lanes & Highest) * 0x0000200040008001L) >>> 60

  /** The highest bits of `length` lanes as bits, 64 a word. */
  def bits(lanes: Array[Long], length: Int, out: Array[Long]): Unit = {
    var lane = 0
    while (lane < length) {
      val stop = Math.min(length, lane + 16)
      val word = lane >> 4
      var found = 0L
      while (lane < stop) {
        found |= bits(lanes(lane)) << (lane << 2)
        lane += 1
      }
      out(word) = found
    }
  }

  /** As `bits`, added to those that are set; for lanes of which few are set. */
  def addFewBits(lanes: Array[Long], length: Int, out: Array[Long]): Unit = {
    var lane = 0
    while (lane < length) {
      if ((lanes(lane) & Highest) != 0) out(lane >> 4) |= bits(lanes(lane)) << (lane << 2)
      lane += 1
    }
  }
}
