// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import java.util.Arrays

import zonemap.core.io.Output
import zonemap.core.value.{BytesValue, Encoding, LongValue, ZoneValue}

/**
 * Collects the lower and upper values of a column while a segment is built. An absent value is stored as a filler, and
 * the row's flags mark it as absent. Not thread-safe.
 */
sealed private[column] trait BoundStore {

  /**
   * Adds the bounds of one row; null for an absent bound. A value of the wrong encoding is an IllegalArgumentException.
   */
  def add(lower: ZoneValue, upper: ZoneValue): Unit

  /**
   * The dictionary of the column: all distinct present values if there are at most `limit`, else `limit` quantiles of
   * them.
   */
  def dictionary(flags: Array[Byte], limit: Int): BoundStore.Coded

  /** The lower and upper values of the rows `from until until` in the form that [[ExactFrames]] reads. */
  def frame(from: Int, until: Int): Array[Byte]

  /** All values in the form that [[PackedExact]] reads; None for an encoding that it does not support. */
  def packed(dictionary: Dictionary, lower: Array[Char], upper: Array[Char], flags: Array[Byte]): Option[Array[Byte]]
}

private[column] object BoundStore {

  /**
   * A dictionary and the codes of the values in it.
   *
   * @param exact whether every present value is a boundary
   * @param lower the code of a row's lower value, which must be present; `upper` likewise
   */
  final case class Coded(dictionary: Dictionary, exact: Boolean, lower: Int => Int, upper: Int => Int)

  def of(encoding: Encoding): BoundStore = encoding match {
    case Encoding.Longs => new LongStore
    case Encoding.Bytes => new BytesStore
  }

  /** The ordinals of `limit` evenly spread elements of `size` elements, including the first and the last. */
  private def quantiles(size: Int, limit: Int): Iterator[Int] =
    Iterator.tabulate(limit)(i => (i.toLong * (size - 1) / (limit - 1)).toInt)

  final private class LongStore extends BoundStore {
    private var lowers = new Array[Long](32)
    private var uppers = new Array[Long](32)
    private var rows = 0

    override def add(lower: ZoneValue, upper: ZoneValue): Unit = {
      if (rows == lowers.length) {
        lowers = Arrays.copyOf(lowers, rows * 2)
        uppers = Arrays.copyOf(uppers, rows * 2)
      }
      lowers(rows) = long(lower)
      uppers(rows) = long(upper)
      rows += 1
    }

    private def long(value: ZoneValue): Long = value match {
      case null         => 0L
      case LongValue(v) => v
      case other        => throw new IllegalArgumentException(s"$other in a column of longs")
    }

    override def dictionary(flags: Array[Byte], limit: Int): Coded = {
      val all = new Array[Long](rows * 2)
      var count = 0
      (0 until rows).foreach { row =>
        if (BoundsFlags.hasLower(flags(row))) { all(count) = lowers(row); count += 1 }
        if (BoundsFlags.hasUpper(flags(row))) { all(count) = uppers(row); count += 1 }
      }
      Arrays.sort(all, 0, count)
      val distinct = distinctPrefix(all, count)
      val exact = distinct.length <= limit
      val dictionary =
        Dictionary.ofLongs(if (exact) distinct else quantiles(distinct.length, limit).map(distinct(_)).toArray)
      Coded(dictionary, exact, row => dictionary.code(lowers(row)), row => dictionary.code(uppers(row)))
    }

    private def distinctPrefix(sorted: Array[Long], count: Int): Array[Long] = {
      var kept = 0
      (0 until count).foreach { i =>
        if (kept == 0 || sorted(kept - 1) != sorted(i)) {
          sorted(kept) = sorted(i)
          kept += 1
        }
      }
      Arrays.copyOf(sorted, kept)
    }

    override def frame(from: Int, until: Int): Array[Byte] = {
      val out = new Output((until - from) * 16)
      // Differences are stored, because they are small numbers where a column is worth indexing: lower bounds then
      // ascend with the rows, and ranges have similar widths.
      var last = 0L
      (from until until).foreach { row =>
        out.long(lowers(row) - last)
        last = lowers(row)
      }
      (from until until).foreach(row => out.long(uppers(row) - lowers(row)))
      out.toBytes
    }

    override def packed(
        dictionary: Dictionary,
        lower: Array[Char],
        upper: Array[Char],
        flags: Array[Byte]): Option[Array[Byte]] = dictionary match {
      case longs: LongDictionary => Some(PackedExact.encode(longs, lowers(_), uppers(_), lower, upper, flags))
      case _: BytesDictionary    => None
    }
  }

  final private class BytesStore extends BoundStore {
    private val lowers = scala.collection.mutable.ArrayBuffer.empty[Array[Byte]]
    private val uppers = scala.collection.mutable.ArrayBuffer.empty[Array[Byte]]

    override def add(lower: ZoneValue, upper: ZoneValue): Unit = {
      lowers += bytes(lower)
      uppers += bytes(upper)
    }

    private def bytes(value: ZoneValue): Array[Byte] = value match {
      case null          => Array.emptyByteArray
      case BytesValue(b) => b
      case other         => throw new IllegalArgumentException(s"$other in a column of bytes")
    }

    override def dictionary(flags: Array[Byte], limit: Int): Coded = {
      val present = new java.util.HashSet[BytesValue]
      lowers.indices.foreach { row =>
        if (BoundsFlags.hasLower(flags(row))) present.add(BytesValue(lowers(row)))
        if (BoundsFlags.hasUpper(flags(row))) present.add(BytesValue(uppers(row)))
      }
      val distinct = present.toArray(new Array[BytesValue](0)).map(_.bytes)
      Arrays.sort(distinct, (a: Array[Byte], b: Array[Byte]) => Arrays.compareUnsigned(a, b))
      val exact = distinct.length <= limit
      val dictionary =
        Dictionary.ofBytes(if (exact) distinct else quantiles(distinct.length, limit).map(distinct(_)).toArray)
      Coded(dictionary, exact, row => dictionary.code(lowers(row)), row => dictionary.code(uppers(row)))
    }

    override def frame(from: Int, until: Int): Array[Byte] = {
      val out = new Output((until - from) * 32)
      (from until until).foreach(row => out.bytes(lowers(row)))
      (from until until).foreach(row => out.bytes(uppers(row)))
      out.toBytes
    }

    override def packed(
        dictionary: Dictionary,
        lower: Array[Char],
        upper: Array[Char],
        flags: Array[Byte]): Option[Array[Byte]] = None
  }
}
