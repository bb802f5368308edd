package zonemap.core.eval

import zonemap.core.segment.{CodeLanes, ExactRows}

/** Codes and flags of up to `capacity` zones and the bits computed from them. Belongs to one evaluation. */
final private[eval] class ZoneBuffer(val capacity: Int) {
  var lower: Array[Long] = new Array(CodeLanes.length(capacity))
  var upper: Array[Long] = new Array(CodeLanes.length(capacity))
  var flags: Array[Byte] = new Array(capacity)
  val bits: Array[Long] = new Array((capacity + 63) >> 6)
  val open: Array[Long] = new Array((capacity + 63) >> 6)

  /** For the steps of a test. */
  val lanes: Array[Long] = new Array(CodeLanes.length(capacity))

  /** For the zones that are open, in their order. */
  lazy val exact: ExactRows = new ExactRows(capacity)

  private var firstRow = 0
  private var rows: Array[Int] = _

  /** The zones are all rows from one on. */
  def useRowsFrom(row: Int): Unit = {
    firstRow = row
    rows = null
  }

  /** The zones are some rows. */
  def useRows(some: Array[Int]): Unit = rows = some

  /** The row of a zone. */
  def row(i: Int): Int = if (rows == null) firstRow + i else rows(i)

  def put(i: Int, bit: Boolean): Unit = {
    val mask = 1L << i
    val others = bits(i >> 6) & ~mask
    bits(i >> 6) = if (bit) others | mask else others
  }

  /** The first open zone from `i` on, or -1. */
  def nextOpen(i: Int, count: Int): Int = {
    var next = i
    while (next < count && (open(next >> 6) & 1L << next) == 0) next += 1
    if (next < count) next else -1
  }

  /** Puts the rows of the open zones in order to the front of `out`, and says how many they are. */
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

  /** Puts the codes of the open zones in order to the front of `out`. */
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

  /** The answers for the open zones, in their order, become their bits; `inverted` is -1 where a proof is a no. */
  def putOpen(proven: Array[Boolean], count: Int, inverted: Long): Unit = {
    var next = 0
    var word = 0
    while (word < ((count + 63) >> 6)) {
      var left = open(word)
      var yes = 0L
      while (left != 0) {
        // the lowest bit that is left or none: no branch
        yes |= left & -left & -(if (proven(next)) 1L else 0L)
        next += 1
        left &= left - 1
      }
      bits(word) = (bits(word) & ~open(word)) | ((yes ^ inverted) & open(word))
      word += 1
    }
  }
}
