package zonemap.core.segment

import java.util.Arrays

import zonemap.core.value.{BytesValue, Encoding, LongValue, ZoneValue}

/**
 * The sorted boundary values of a column. A value's code is odd, 2i+1, when it equals boundary i, and even, 2i, when it
 * lies between boundaries i-1 and i; so codes keep the order of values, and only equal even codes leave it open.
 * Immutable, thread-safe.
 */
sealed private[core] trait Dictionary {
  def size: Int

  /** O(log size). The value must be of the column's encoding. */
  def code(value: ZoneValue): Int

  def value(ordinal: Int): ZoneValue

  private[segment] def heapBytes: Long

  /** The codes here of all boundaries of another dictionary of this encoding: O(size of both). */
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

  /** A boundary of this against one of another of this encoding. */
  protected def order(ordinal: Int, other: Dictionary, otherOrdinal: Int): Int

  /** The dictionary of some of the boundaries, by ascending ordinal. */
  private[segment] def only(ordinals: Array[Int]): Dictionary

  private[segment] def write(out: Output): Unit
}

final private[core] class LongDictionary(private val values: Array[Long]) extends Dictionary {
  override private[segment] def heapBytes: Long = HeapBytes.instance(4) + HeapBytes.array(values.length, 8)

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

  /** The codes of ascending numbers: O(numbers log boundaries), at most O(numbers + boundaries). */
  def codesOf(numbers: Array[Long]): Array[Int] =
    if (numbers.length > values.length / 4) mergedCodesOf(numbers) else searchedCodesOf(numbers)

  /** Each is searched from the one before on, in growing steps. */
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
   * Either side goes on by arithmetic: which one does is a guess that a branch loses. Both halves of the numbers go on side
   * by side, since each step waits for the one before.
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

  /** By how much distances from the boundary before a gap are shifted so that the gap has at most so many parts. */
  private[core] def partShift(gap: Int, parts: Int): Int =
    if (gap == 0 || gap >= values.length) 0
    else {
      // unsigned: a gap may be as wide as all numbers
      val greatest = values(gap) - values(gap - 1) - 1
      val bits = 32 - Integer.numberOfLeadingZeros(parts)
      val shift = Math.max(0, 64 - java.lang.Long.numberOfLeadingZeros(greatest) - bits)
      if ((greatest >>> shift) < parts) shift else shift + 1
    }

  /** As `value`, without an object. */
  def number(ordinal: Int): Long = values(ordinal)

  /** The greatest boundary that is at most any value of the code; 0 below the first. */
  private[core] def floor(code: Int): Long = {
    val ordinal = Dictionary.gap(code) - 1
    if (ordinal < 0 || ordinal >= values.length) 0L else values(ordinal)
  }

  override private[segment] def only(ordinals: Array[Int]): Dictionary = new LongDictionary(ordinals.map(values(_)))

  override private[segment] def write(out: Output): Unit = {
    out.int(values.length)
    values.foreach(out.long)
  }
}

final private[core] class BytesDictionary(offsets: Array[Int], blob: Array[Byte]) extends Dictionary {
  override private[segment] def heapBytes: Long =
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

  /** A boundary against bytes. */
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

  override private[segment] def only(ordinals: Array[Int]): Dictionary =
    Dictionary.ofBytes(ordinals.map(i => Arrays.copyOfRange(blob, offsets(i), offsets(i + 1))))

  override private[segment] def write(out: Output): Unit = {
    out.int(size)
    offsets.foreach(out.int)
    out.raw(blob): Unit
  }
}

private[core] object Dictionary {

  /** The most boundaries that leave room for the two codes of absent bounds in 16 bits. */
  val MaxBoundaries = 32767

  /** Below every literal that is above a boundary: "no lower bound". */
  val NoLower = 0

  /** Above every code: "no upper bound". */
  val NoUpper = 0xffff

  def isExact(code: Int): Boolean = (code & 1) == 1

  def ordinal(code: Int): Int = code >>> 1

  /** The ordinal of the boundary behind the values that share the boundary before with those of the code. */
  def gap(code: Int): Int = (code + 1) >> 1

  /** The code for the result of a binary search (insertion point as -(i + 1)). */
  private[segment] def code(searched: Int): Int = if (searched >= 0) 2 * searched + 1 else 2 * -(searched + 1)

  private[segment] def ofLongs(sorted: Array[Long]): LongDictionary = new LongDictionary(sorted)

  private[segment] def ofBytes(sorted: Array[Array[Byte]]): BytesDictionary = {
    val offsets = sorted.scanLeft(0)((offset, value) => Math.addExact(offset, value.length))
    val blob = new Array[Byte](offsets.last)
    sorted.indices.foreach(i => System.arraycopy(sorted(i), 0, blob, offsets(i), sorted(i).length))
    new BytesDictionary(offsets, blob)
  }

  private[segment] def read(in: Input, encoding: Encoding): Dictionary = {
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
