// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import java.util.Arrays

/**
 * A set of rows in `0 until size`, stored as 64 rows per word. Bits beyond `size` are always 0. Mutable; not
 * thread-safe.
 */
final private[zonemap] class Bitmap private (val size: Int, private[core] val words: Array[Long]) {

  def apply(row: Int): Boolean = (words(row >> 6) & 1L << row) != 0

  def set(row: Int): Unit = words(row >> 6) |= 1L << row

  def clear(row: Int): Unit = words(row >> 6) &= ~(1L << row)

  /** Adds the rows `from until until`. */
  def setRange(from: Int, until: Int): Unit =
    if (from < until) {
      val first = from >> 6
      val last = (until - 1) >> 6
      val head = -1L << from
      val tail = -1L >>> (-until & 63)
      if (first == last) words(first) |= head & tail
      else {
        words(first) |= head
        Arrays.fill(words, first + 1, last, -1L)
        words(last) |= tail
      }
    }

  /** Keeps only the rows that `other` holds too, and returns this bitmap. Both bitmaps must have the same size. */
  def and(other: Bitmap): Bitmap = combine(other, (a, b) => a & b)

  /** Adds the rows of `other`, and returns this bitmap. Both bitmaps must have the same size. */
  def or(other: Bitmap): Bitmap = combine(other, (a, b) => a | b)

  /** Removes the rows of `other`, and returns this bitmap. Both bitmaps must have the same size. */
  def andNot(other: Bitmap): Bitmap = combine(other, (a, b) => a & ~b)

  def cardinality: Int = cardinality(0, words.length)

  /** The number of rows in the words `from until until`. */
  private[core] def cardinality(from: Int, until: Int): Int = Bitmap.cardinality(words, from, until)

  def isEmpty: Boolean = {
    var word = 0
    while (word < words.length && words(word) == 0) word += 1
    word == words.length
  }

  /** The first row >= `from` in the set, or -1. */
  def nextSetBit(from: Int): Int =
    if (from >= size) -1
    else {
      var word = from >> 6
      var bits = words(word) & -1L << from
      while (bits == 0 && word + 1 < words.length) {
        word += 1
        bits = words(word)
      }
      if (bits == 0) -1 else (word << 6) + java.lang.Long.numberOfTrailingZeros(bits)
    }

  /** Calls `action` with every row in ascending order. */
  def forEach(action: Int => Unit): Unit = {
    var word = 0
    while (word < words.length) {
      var bits = words(word)
      while (bits != 0) {
        action((word << 6) + java.lang.Long.numberOfTrailingZeros(bits))
        bits &= bits - 1
      }
      word += 1
    }
  }

  /** The rows in ascending order. */
  def toArray: Array[Int] = {
    val out = new Array[Int](cardinality)
    var next = 0
    forEach { row =>
      out(next) = row
      next += 1
    }
    out
  }

  def copy(): Bitmap = new Bitmap(size, words.clone())

  override def equals(other: Any): Boolean = other match {
    case that: Bitmap => size == that.size && Arrays.equals(words, that.words)
    case _            => false
  }

  override def hashCode: Int = Arrays.hashCode(words)

  override def toString: String = toArray.take(32).mkString(s"Bitmap($cardinality of $size: ", ",", ")")

  @inline private def combine(other: Bitmap, operator: (Long, Long) => Long): Bitmap = {
    require(size == other.size, s"bitmaps of $size and ${other.size} rows")
    var word = 0
    while (word < words.length) {
      words(word) = operator(words(word), other.words(word))
      word += 1
    }
    this
  }
}

private[zonemap] object Bitmap {

  /** The number of bits set in the words `from until until`. */
  private[core] def cardinality(words: Array[Long], from: Int, until: Int): Int = {
    var count = 0
    var word = from
    while (word < until) {
      count += java.lang.Long.bitCount(words(word))
      word += 1
    }
    count
  }

  /** A bitmap without rows. */
  def empty(size: Int): Bitmap = new Bitmap(size, new Array[Long]((size + 63) >> 6))

  /** A bitmap of all rows. */
  def full(size: Int): Bitmap = {
    val out = empty(size)
    out.setRange(0, size)
    out
  }

  def of(size: Int, rows: Int*): Bitmap = {
    val out = empty(size)
    rows.foreach(out.set)
    out
  }
}
