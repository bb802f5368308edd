// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import java.util.Arrays

import zonemap.core.io.{HeapBytes, Input, Output}
import zonemap.core.value.{BytesValue, Encoding, LongValue, ZoneValue}

/**
 * The sorted boundary values of a column. The code of a value is odd, 2i+1, if the value equals boundary i, and even,
 * 2i, if it lies between boundaries i-1 and i. So codes preserve the order of values; only two values with the same
 * even code cannot be ordered by codes. Immutable, thread-safe.
 */
sealed private[core] trait Dictionary {
  def size: Int

  /** The code of a value, in O(log size). The value must have the column's encoding. */
  def code(value: ZoneValue): Int

  def value(ordinal: Int): ZoneValue

  private[core] def heapBytes: Long

  /**
   * The codes in this dictionary of all boundaries of another dictionary, which must have the same encoding. O(size of
   * both).
   */
  def codesOf(other: Dictionary): Array[Int] = {
    val codes = new Array[Int](other.size)
    var here = 0
    var i = 0
    while (i < codes.length) {
      while (here < size && order(here, other, i) < 0) here += 1
      codes(i) = if (here < size && order(here, other, i) == 0) 2 * here + 1 else 2 * here
      i += 1
    }
    codes
  }

  /** Compares a boundary of this dictionary with a boundary of another one, which must have the same encoding. */
  protected def order(ordinal: Int, other: Dictionary, otherOrdinal: Int): Int

  /** A dictionary of some of the boundaries, by ascending ordinals. */
  private[core] def only(ordinals: Array[Int]): Dictionary

  private[core] def write(out: Output): Unit
}

final private[core] class LongDictionary(private val values: Array[Long]) extends Dictionary {
  override private[core] def heapBytes: Long = HeapBytes.instance(4) + HeapBytes.array(values.length, 8)

  override def size: Int = values.length

  override def value(ordinal: Int): ZoneValue = LongValue(values(ordinal))

  override def code(value: ZoneValue): Int = value match {
    case LongValue(v) => code(v)
    case other        => throw new IllegalArgumentException(s"$other in a column of longs")
  }

  override protected def order(ordinal: Int, other: Dictionary, otherOrdinal: Int): Int = other match {
    case longs: LongDictionary => java.lang.Long.compare(values(ordinal), longs.number(otherOrdinal))
    case _: BytesDictionary    => throw new IllegalArgumentException("bytes against longs")
  }

  def code(value: Long): Int = Dictionary.code(Arrays.binarySearch(values, value))

  override def codesOf(other: Dictionary): Array[Int] = other match {
    case longs: LongDictionary => codesOf(longs.values)
    case _: BytesDictionary    => super.codesOf(other)
  }

  /** The codes of ascending numbers, in O(numbers log boundaries) and at most O(numbers + boundaries). */
  def codesOf(numbers: Array[Long]): Array[Int] =
    if (numbers.length > values.length / 4) mergedCodesOf(numbers) else searchedCodesOf(numbers)

  /** Searches each number from the position of the previous one on, in growing steps. */
  private def searchedCodesOf(numbers: Array[Long]): Array[Int] = {
    val codes = new Array[Int](numbers.length)
    var from = 0
    var i = 0
    while (i < numbers.length) {
      var step = 1
      while (from + step <= values.length && values(from + step - 1) < numbers(i)) {
        from += step
        step *= 2
      }
      codes(i) = Dictionary.code(Arrays.binarySearch(values, from, Math.min(values.length, from + step), numbers(i)))
      from = Dictionary.ordinal(codes(i))
      i += 1
    }
    codes
  }

  /**
   * Merges the numbers with the boundaries. Arithmetic decides which side advances, because the processor would
   * mispredict a branch. One loop merges both halves of the numbers, because each step of a merge must wait for the
   * previous step of the same merge.
   */
  private def mergedCodesOf(numbers: Array[Long]): Array[Int] = {
    val codes = new Array[Int](numbers.length)
    val middle = numbers.length / 2
    var (i, j) = (0, middle)
    var here = 0
    var there = if (middle < numbers.length) Dictionary.ordinal(code(numbers(middle))) else 0
    while (i < middle && here < values.length && j < numbers.length && there < values.length) {
      val isLess = if (values(here) < numbers(i)) 1 else 0
      val isLessThere = if (values(there) < numbers(j)) 1 else 0
      codes(i) = 2 * here + (if (values(here) == numbers(i)) 1 else 0)
      codes(j) = 2 * there + (if (values(there) == numbers(j)) 1 else 0)
      here += isLess
      there += isLessThere
      i += 1 - isLess
      j += 1 - isLessThere
    }
    codesFrom(numbers, i, middle, here, codes)
    codesFrom(numbers, j, numbers.length, there, codes)
    codes
  }

  private def codesFrom(numbers: Array[Long], from: Int, until: Int, ordinal: Int, codes: Array[Int]): Unit = {
    var i = from
    var here = ordinal
    while (i < until && here < values.length) {
      val isLess = if (values(here) < numbers(i)) 1 else 0
      codes(i) = 2 * here + (if (values(here) == numbers(i)) 1 else 0)
      here += isLess
      i += 1 - isLess
    }
    Arrays.fill(codes, i, Math.max(i, until), 2 * values.length)
  }

  /**
   * The shift that divides a gap into at most `parts` parts. The part of a value is the value's distance from the
   * boundary before the gap, shifted right by the returned number of bits.
   */
  private[core] def partShift(gap: Int, parts: Int): Int =
    if (gap == 0 || gap >= values.length) 0
    else {
      // the difference is unsigned, because a gap may be as wide as the whole range of longs
      val greatest = values(gap) - values(gap - 1) - 1
      val bits = 32 - Integer.numberOfLeadingZeros(parts)
      val shift = Math.max(0, 64 - java.lang.Long.numberOfLeadingZeros(greatest) - bits)
      if ((greatest >>> shift) < parts) shift else shift + 1
    }

  /** As `value`, without allocating an object. */
  def number(ordinal: Int): Long = values(ordinal)

  /** The greatest boundary that is at most every value of the code; 0 if there is none. */
  private[core] def floor(code: Int): Long = {
    val ordinal = Dictionary.gap(code) - 1
    if (ordinal < 0 || ordinal >= values.length) 0L else values(ordinal)
  }

  override private[core] def only(ordinals: Array[Int]): Dictionary = new LongDictionary(ordinals.map(values(_)))

  override private[core] def write(out: Output): Unit = {
    out.int(values.length)
    values.foreach(out.long)
  }
}

final private[core] class BytesDictionary(offsets: Array[Int], blob: Array[Byte]) extends Dictionary {
  override private[core] def heapBytes: Long =
    HeapBytes.instance(8) + HeapBytes.array(offsets.length, 4) + HeapBytes.array(blob.length, 1)

  override def size: Int = offsets.length - 1

  override def value(ordinal: Int): ZoneValue =
    BytesValue(Arrays.copyOfRange(blob, offsets(ordinal), offsets(ordinal + 1)))

  override def code(value: ZoneValue): Int = value match {
    case BytesValue(bytes) => code(bytes)
    case other             => throw new IllegalArgumentException(s"$other in a column of bytes")
  }

  override protected def order(ordinal: Int, other: Dictionary, otherOrdinal: Int): Int = other match {
    case bytes: BytesDictionary => -bytes.order(blob, offsets(ordinal), offsets(ordinal + 1), otherOrdinal)
    case _: LongDictionary      => throw new IllegalArgumentException("longs against bytes")
  }

  /** Compares a boundary with bytes. */
  private def order(bytes: Array[Byte], from: Int, until: Int, ordinal: Int): Int =
    Arrays.compareUnsigned(blob, offsets(ordinal), offsets(ordinal + 1), bytes, from, until)

  def code(bytes: Array[Byte]): Int = {
    var low = 0
    var high = size - 1
    var found = -1
    while (low <= high && found < 0) {
      val middle = (low + high) >>> 1
      val middleOrder = order(bytes, 0, bytes.length, middle)
      if (middleOrder == 0) found = middle
      else if (middleOrder < 0) low = middle + 1
      else high = middle - 1
    }
    Dictionary.code(if (found >= 0) found else -(low + 1))
  }

  override private[core] def only(ordinals: Array[Int]): Dictionary =
    Dictionary.ofBytes(ordinals.map(i => Arrays.copyOfRange(blob, offsets(i), offsets(i + 1))))

  override private[core] def write(out: Output): Unit = {
    out.int(size)
    offsets.foreach(out.int)
    out.raw(blob): Unit
  }
}

private[core] object Dictionary {

  /** The largest number of boundaries for which the codes of absent bounds still fit in 16 bits. */
  val MaxBoundaries = 32767

  /** The code of "no lower bound". It is below the codes of all literals, except literals below the first boundary. */
  val NoLower = 0

  /** The code of "no upper bound", which is above every other code. */
  val NoUpper = 0xffff

  def isExact(code: Int): Boolean = (code & 1) == 1

  def ordinal(code: Int): Int = code >>> 1

  /**
   * The gap of a code, as the ordinal of the boundary behind the gap. A gap holds a boundary and the values between it
   * and the next boundary.
   */
  def gap(code: Int): Int = (code + 1) >> 1

  /** The code for the result of a binary search, which is -(i + 1) for an insertion point i. */
  private[core] def code(searched: Int): Int = if (searched >= 0) 2 * searched + 1 else 2 * -(searched + 1)

  private[core] def ofLongs(sorted: Array[Long]): LongDictionary = new LongDictionary(sorted)

  private[core] def ofBytes(sorted: Array[Array[Byte]]): BytesDictionary = {
    val offsets = sorted.scanLeft(0)((offset, value) => Math.addExact(offset, value.length))
    val blob = new Array[Byte](offsets.last)
    sorted.indices.foreach(i => System.arraycopy(sorted(i), 0, blob, offsets(i), sorted(i).length))
    new BytesDictionary(offsets, blob)
  }

  private[core] def read(in: Input, encoding: Encoding): Dictionary = {
    val size = in.int()
    if (size > MaxBoundaries) Input.damaged(s"a dictionary of $size values")
    encoding match {
      case Encoding.Longs =>
        val values = new Array[Long](in.checked(size, 8))
        in.view(size * 8).asLongBuffer().get(values)
        new LongDictionary(values)
      case Encoding.Bytes =>
        val offsets = new Array[Int](in.checked(size, 4) + 1)
        in.view(offsets.length * 4).asIntBuffer().get(offsets)
        if (offsets(0) != 0 || (1 to size).exists(i => offsets(i) < offsets(i - 1))) Input.damaged("dictionary offsets")
        new BytesDictionary(offsets, in.raw(offsets(size)))
    }
  }
}
