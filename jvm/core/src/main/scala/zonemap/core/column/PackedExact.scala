// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import java.nio.{ByteBuffer, ByteOrder}
import zonemap.core.io.{Input, Output}

/**
 * The exact bounds of a column of longs, for random access. Each bound is stored as its distance from a number that can
 * be computed without the bound, block by block in as few bits as the block needs.
 *
 * A lower bound is stored as its distance from the boundary at or below it, which its code determines. An upper bound
 * is stored as its distance from the boundary at or below it, or from the row's lower bound, whichever needs fewer bits
 * in the block. For random keys and measures, this form takes no more bytes than compressed frames; reading a bound
 * takes a few nanoseconds, while decoding a frame takes tens of microseconds. Thread-safe.
 */
final private[column] class PackedExact(bytes: ByteBuffer, dictionary: LongDictionary, rows: Int) extends ExactLongs {
  import PackedExact._

  private val lowers = new Side(0)
  private val uppers = new Side(lowers.end)
  if (uppers.end + Padding != bytes.remaining)
    Input.damaged(s"exact bounds of ${bytes.remaining} bytes, not ${uppers.end + Padding}")
  if (lowers.follows.contains(true)) Input.damaged("lower bounds that count from lower bounds")

  override def lower(row: Int, lowerCode: Int): Long = dictionary.floor(lowerCode) + lowers.number(row)

  override def upper(row: Int, lower: Long, upperCode: Int): Long = {
    val from = if (uppers.follows(row / Blocks.BlockRows)) lower else dictionary.floor(upperCode)
    from + uppers.number(row)
  }

  override def read(rows: ExactRows): Unit = {
    lowers.add(rows, rows.lowerCodes, rows.lowers)
    uppers.add(rows, rows.upperCodes, rows.uppers)
  }

  override def readDistances(rows: ExactRows, dictionary: LongDictionary): Unit = {
    lowers.numbers(rows, rows.lowers)
    uppers.numbers(rows, rows.uppers)
    if (uppers.follow(rows)) {
      var i = 0
      while (i < rows.size) {
        rows.uppers(i) += rows.lowers(i)
        i += 1
      }
    } else {
      var i = 0
      while (i < rows.size) {
        val (lowerCode, upperCode) = (rows.lowerCodes(i).toInt, rows.upperCodes(i).toInt)
        if (Dictionary.gap(lowerCode) != Dictionary.gap(upperCode))
          rows.uppers(i) += dictionary.floor(upperCode) - dictionary.floor(lowerCode)
        i += 1
      }
    }
  }

  /** One side (lower or upper bounds): a table with one row per block, then the blocks. */
  private final class Side(start: Int) {
    private val blocks = Blocks.count(rows)
    private val bases = new Array[Long](blocks)
    private val masks = new Array[Long](blocks)
    private val widths = new Array[Int](blocks)
    private val starts = new Array[Int](blocks)
    val follows = new Array[Boolean](blocks)

    val end: Int = (0 until blocks).foldLeft(start + blocks * EntryBytes) { (offset, block) =>
      val entry = start + block * EntryBytes
      val (width, from) = (bytes.get(entry + 8).toInt, bytes.get(entry + 9).toInt)
      if (!isWidth(width) || from < 0 || from > 1) Input.damaged(s"a block of exact bounds of $width bits")
      bases(block) = bytes.getLong(entry)
      masks(block) = if (width == 0) 0L else -1L >>> (64 - width)
      widths(block) = width
      starts(block) = offset
      follows(block) = from == 1
      offset + blockBytes(Math.min(Blocks.BlockRows, rows - block * Blocks.BlockRows), width)
    }

    /** Computes the bounds of rows of one block. */
    def add(requested: ExactRows, codes: Array[Char], out: Array[Long]): Unit = {
      numbers(requested, out)
      val isFollowing = follow(requested)
      var i = 0
      while (i < requested.size) {
        out(i) += (if (isFollowing) requested.lowers(i) else dictionary.floor(codes(i).toInt))
        i += 1
      }
    }

    /** Whether the numbers of the rows' block are distances from the lower bounds of their rows. */
    def follow(requested: ExactRows): Boolean = requested.size > 0 && follows(requested.rows(0) / Blocks.BlockRows)

    /** Reads the stored distances of rows of one block. */
    def numbers(requested: ExactRows, out: Array[Long]): Unit = if (requested.size > 0) {
      val block = requested.rows(0) / Blocks.BlockRows
      val base = bases(block)
      val mask = masks(block)
      val width = widths(block)
      val start = starts(block)
      if (width == 0) java.util.Arrays.fill(out, 0, requested.size, base)
      else {
        var i = 0
        while (i < requested.size) {
          val bit = (requested.rows(i) & (Blocks.BlockRows - 1)) * width
          out(i) = base + ((bytes.getLong(start + (bit >>> 3)) >>> (bit & 7)) & mask)
          i += 1
        }
      }
    }

    def number(row: Int): Long = {
      val block = row / Blocks.BlockRows
      val width = widths(block)
      val bit = (row % Blocks.BlockRows) * width
      if (width == 0) bases(block)
      else bases(block) + ((bytes.getLong(starts(block) + (bit >>> 3)) >>> (bit & 7)) & masks(block))
    }
  }
}

private[column] object PackedExact {
  val EntryBytes = 10

  /** Bytes after the last block: a number is read as part of eight bytes, which may extend past the last number. */
  val Padding = 8

  /**
   * The widest packed number; wider numbers are stored as 64 bits. A packed number may start up to 7 bits into a byte,
   * and must end within the eight bytes from there.
   */
  private val MaxPartialWidth = 56

  private def isWidth(width: Int): Boolean = (width >= 0 && width <= MaxPartialWidth) || width == 64

  private def blockBytes(rows: Int, width: Int): Int = (rows * width + 7) / 8

  /**
   * @param lower the code of each lower bound; `upper` holds the codes of the upper bounds
   * @param flags which bounds are present; absent bounds are not stored
   */
  def encode(
      dictionary: LongDictionary,
      lowers: Int => Long,
      uppers: Int => Long,
      lower: Array[Char],
      upper: Array[Char],
      flags: Array[Byte]): Array[Byte] = {
    val blocks = flags.indices.by(Blocks.BlockRows).map { first =>
      val rows = Math.min(Blocks.BlockRows, flags.length - first)
      def hasLower(i: Int) = BoundsFlags.hasLower(flags(first + i))
      def hasUpper(i: Int) = BoundsFlags.hasUpper(flags(first + i))
      val ofLower =
        Block.of(rows, hasLower, i => lowers(first + i) - dictionary.floor(lower(first + i)), follows = false)
      def readLower(i: Int) = dictionary.floor(lower(first + i)) + ofLower.number(i)
      val ofUpper = Seq(
        Block.of(rows, hasUpper, i => uppers(first + i) - dictionary.floor(upper(first + i)), follows = false),
        Block.of(rows, hasUpper, i => uppers(first + i) - readLower(i), follows = true)
      ).minBy(_.width)
      (ofLower, ofUpper)
    }
    val out = new Output(flags.length * 8)
    Seq(blocks.map(_._1), blocks.map(_._2)).foreach { side =>
      side.foreach(b => out.long(b.base).byte(b.width).byte(if (b.follows) 1 else 0))
      side.foreach(b => out.raw(b.packed))
    }
    out.raw(new Array[Byte](Padding)).toBytes
  }

  /** Numbers stored as unsigned differences from `base`. */
  private final class Block(numbers: Array[Long], val base: Long, val follows: Boolean) {

    val width: Int = {
      val bits = 64 - java.lang.Long.numberOfLeadingZeros(numbers.foldLeft(0L)((all, n) => all | (n - base)))
      if (bits > MaxPartialWidth) 64 else bits
    }

    def number(i: Int): Long = numbers(i)

    def packed: Array[Byte] = {
      val length = blockBytes(numbers.length, width)
      val out = ByteBuffer.allocate(length + Padding).order(ByteOrder.LITTLE_ENDIAN)
      if (width > 0) numbers.indices.foreach { i =>
        val bit = i * width
        out.putLong(bit >>> 3, out.getLong(bit >>> 3) | ((numbers(i) - base) << (bit & 7)))
      }
      java.util.Arrays.copyOf(out.array(), length)
    }
  }

  private object Block {

    /** Makes the block of some rows. An absent number is stored as the least present number. */
    def of(rows: Int, present: Int => Boolean, number: Int => Long, follows: Boolean): Block = {
      val there = Array.tabulate(rows)(present)
      val numbers = Array.tabulate(rows)(i => if (there(i)) number(i) else 0L)
      var base = -1L
      numbers.indices.foreach { i =>
        if (there(i) && java.lang.Long.compareUnsigned(numbers(i), base) < 0) base = numbers(i)
      }
      if (!there.contains(true)) base = 0L
      numbers.indices.foreach(i => if (!there(i)) numbers(i) = base)
      new Block(numbers, base, follows)
    }
  }
}
