// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import zonemap.core.column.{CodeLanes, ExactRows}

/** Holds the codes and flags of up to `capacity` zones, and the bits computed from them. Belongs to one evaluation. */
final private[core] class ZoneBuffer(val capacity: Int) {
  var lower: Array[Long] = new Array(CodeLanes.length(capacity))
  var upper: Array[Long] = new Array(CodeLanes.length(capacity))
  var flags: Array[Byte] = new Array(capacity)
  val bits: Array[Long] = new Array((capacity + 63) >> 6)
  val open: Array[Long] = new Array((capacity + 63) >> 6)

  /** Intermediate results of a check. */
  val lanes: Array[Long] = new Array(CodeLanes.length(capacity))

  /** The exact bounds of the open zones, in the order of the zones. */
  lazy val exact: ExactRows = new ExactRows(capacity)

  private var firstRow = 0
  private var rows: Array[Int] = _

  /** Takes the consecutive rows from `row` on as zones. */
  def useRowsFrom(row: Int): Unit = {
    firstRow = row
    rows = null
  }

  /** Takes the listed rows as zones. */
  def useRows(some: Array[Int]): Unit = rows = some

  /** The row of a zone. */
  def row(i: Int): Int = if (rows == null) firstRow + i else rows(i)

  def put(i: Int, bit: Boolean): Unit = {
    val mask = 1L << i
    val others = bits(i >> 6) & ~mask
    bits(i >> 6) = if (bit) others | mask else others
  }

  /** The first open zone at or after `i`, or -1. */
  def nextOpen(i: Int, count: Int): Int = {
    var next = i
    while (next < count && (open(next >> 6) & 1L << next) == 0) next += 1
    if (next < count) next else -1
  }

  /** Writes the rows of the open zones to the front of `out`, in order, and returns their number. */
  def openRows(count: Int, out: Array[Int]): Int = {
    var next = 0
    var word = 0
    while (word < ((count + 63) >> 6)) {
      var left = open(word)
      while (left != 0) {
        out(next) = (word << 6) + java.lang.Long.numberOfTrailingZeros(left)
        next += 1
        left &= left - 1
      }
      word += 1
    }
    var i = 0
    while (i < next) {
      out(i) = row(out(i))
      i += 1
    }
    next
  }

  /** Writes the codes of the open zones to the front of `out`, in order. */
  def ofOpen(codes: Array[Long], count: Int, out: Array[Char]): Unit = {
    var next = 0
    var word = 0
    while (word < ((count + 63) >> 6)) {
      var left = open(word)
      while (left != 0) {
        out(next) = CodeLanes.get(codes, (word << 6) + java.lang.Long.numberOfTrailingZeros(left)).toChar
        next += 1
        left &= left - 1
      }
      word += 1
    }
  }

  /**
   * Sets the bits of the open zones from `proven`, which is in the order of the open zones. `inverted` is -1 if a proof
   * clears the bit, else 0.
   */
  def putOpen(proven: Array[Boolean], count: Int, inverted: Long): Unit = {
    var next = 0
    var word = 0
    while (word < ((count + 63) >> 6)) {
      var left = open(word)
      var yes = 0L
      while (left != 0) {
        // takes the lowest remaining bit if the zone is proven, else no bit, without a branch
        yes |= left & -left & -(if (proven(next)) 1L else 0L)
        next += 1
        left &= left - 1
      }
      bits(word) = (bits(word) & ~open(word)) | ((yes ^ inverted) & open(word))
      word += 1
    }
  }
}
