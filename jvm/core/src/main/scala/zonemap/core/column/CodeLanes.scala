// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

/**
 * Arrays of 16-bit codes, with four codes (lanes) per long and the first code in the lowest 16 bits. The compiler
 * vectorises arithmetic on whole longs, so that comparing a code costs a fraction of a nanosecond. Lanes behind the
 * last code have arbitrary contents.
 */
private[core] object CodeLanes {

  /** The highest bit of each lane. */
  final val Highest = 0x8000800080008000L

  /** The number of longs that hold `count` codes. */
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

  /** A long with one code in all four lanes. */
  def same(code: Int): Long = (code & 0xffffL) * 0x0001000100010001L

  /** The sum of two longs, lane by lane, modulo 2^16. */
  def plus(x: Long, y: Long): Long = ((x & ~Highest) + (y & ~Highest)) ^ ((x ^ y) & Highest)

  /** Sets the highest bit of each lane whose code is at least `code`; the other bits are arbitrary. */
  def atLeast(codes: Array[Long], code: Int, length: Int, out: Array[Long]): Unit = {
    val low = same(code & 0x7fff)
    val either = if (code < 0x8000) -1L else 0L
    var lane = 0
    while (lane < length) {
      out(lane) = atLeast(codes(lane), low, either)
      lane += 1
    }
  }

  /**
   * Retains the highest bit of each lane whose code is below `code`, and clears it in the other lanes; the other bits
   * are arbitrary.
   */
  def andBelow(codes: Array[Long], code: Int, length: Int, out: Array[Long]): Unit = {
    val low = same(code & 0x7fff)
    val either = if (code < 0x8000) -1L else 0L
    var lane = 0
    while (lane < length) {
      out(lane) &= ~atLeast(codes(lane), low, either)
      lane += 1
    }
  }

  /**
   * Compares the lanes with a limit. `isMore` has the highest bit of a lane set if the lower 15 bits of its code are at
   * least `low`. A code is at least the limit if its own highest bit or that of `isMore` is set (limits below 2^15,
   * `either` is -1), or if both are set (other limits, `either` is 0).
   */
  private def atLeast(codes: Long, low: Long, either: Long): Long = {
    val isMore = (codes | Highest) - low
    (isMore & codes) | (either & (isMore | codes))
  }

  /**
   * Sets the highest bit of each lane whose code is `code`; the other bits are arbitrary. Returns whether any lane has
   * this code.
   */
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

  /** Sets the highest bit of each lane in which x == y; the other bits are arbitrary. */
  def equal(x: Long, y: Long): Long = {
    val differing = x ^ y
    ~(((differing & ~Highest) + ~Highest) | differing)
  }

  /** Returns the highest bits of the four lanes as the four lowest bits. */
  def bits(lanes: Long): Long =
    // the multiplication moves the four bits next to each other, to the upper end
    ((lanes & Highest) * 0x0000200040008001L) >>> 60

  /** Writes the highest bits of the lanes of `length` longs to `out`, 64 bits per word. */
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

  /** As `bits`, but adds to the bits that are already set in `out`. Fast if few lanes have their highest bit set. */
  def addFewBits(lanes: Array[Long], length: Int, out: Array[Long]): Unit = {
    var lane = 0
    while (lane < length) {
      if ((lanes(lane) & Highest) != 0) out(lane >> 4) |= bits(lanes(lane)) << (lane << 2)
      lane += 1
    }
  }
}
