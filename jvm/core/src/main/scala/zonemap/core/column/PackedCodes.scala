// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import java.nio.{ByteBuffer, ByteOrder}
import zonemap.core.io.{Input, Output}

/**
 * The codes of one side of a column, stored block by block in as few bits as the block's range of codes needs.
 *
 * If a column follows the order of commits, the codes of a block lie close together, and upper codes lie close to the
 * lower codes of their rows, so that a code needs one byte or less instead of two. A code is the block's base plus the
 * packed number, plus the row's lower code if the block is relative, modulo 2^16. Widths are powers of two, so that a
 * row is unpacked by a shift and a mask. Thread-safe.
 *
 * @param bytes the block table, then the blocks
 * @param lower the codes of the lower side, for relative blocks; null for the lower side itself
 */
final private[column] class PackedCodes(bytes: ByteBuffer, rows: Int, lower: CodeArray) extends CodeArray {
  import PackedCodes._

  private val blocks = Blocks.count(rows)
  private val starts = new Array[Int](blocks)

  /** The number of bytes of this side. */
  val length: Int = (0 until blocks).foldLeft(blocks * EntryBytes) { (start, block) =>
    starts(block) = start
    val isKnown = Widths.contains(width(block)) && (relative(block) == 0 || (relative(block) == 1 && lower != null))
    if (!isKnown) Input.damaged(s"a code block of width ${width(block)}")
    start + blockBytes(Math.min(Blocks.BlockRows, rows - block * Blocks.BlockRows), width(block))
  }
  if (length > bytes.remaining) Input.damaged(s"$length bytes of codes in ${bytes.remaining}")

  private def base(block: Int): Int = bytes.getShort(block * EntryBytes) & 0xffff
  private def width(block: Int): Int = bytes.get(block * EntryBytes + 2).toInt
  private def relative(block: Int): Int = bytes.get(block * EntryBytes + 3).toInt

  override def apply(row: Int): Int = {
    val block = row / Blocks.BlockRows
    val from = if (relative(block) == 1) lower(row) else 0
    (from + base(block) + packed(starts(block), width(block), row % Blocks.BlockRows)) & 0xffff
  }

  override def copy(block: Int, count: Int, lanes: Array[Long]): Unit =
    copyBeside(block, count, lanes, if (isBeside(block)) lowerLanes(block, count) else null)

  override def isBeside(block: Int): Boolean = relative(block) == 1

  override def copyBeside(block: Int, count: Int, lanes: Array[Long], ofLower: Array[Long]): Unit = {
    unpack(starts(block), width(block), count, lanes)
    if (isBeside(block)) {
      var lane = 0
      while (lane < CodeLanes.length(count)) {
        lanes(lane) = CodeLanes.plus(lanes(lane), ofLower(lane))
        lane += 1
      }
    }
    if (base(block) != 0) {
      val ofBase = CodeLanes.same(base(block))
      var lane = 0
      while (lane < CodeLanes.length(count)) {
        lanes(lane) = CodeLanes.plus(lanes(lane), ofBase)
        lane += 1
      }
    }
  }

  private def lowerLanes(block: Int, count: Int): Array[Long] = {
    val lanes = new Array[Long](CodeLanes.length(count))
    lower.copy(block, count, lanes)
    lanes
  }

  private def unpack(start: Int, width: Int, count: Int, lanes: Array[Long]): Unit = width match {
    case 0  => java.util.Arrays.fill(lanes, 0, CodeLanes.length(count), 0L)
    case 16 => CodeArray.copyChars(bytes, start, count, lanes)
    case _  => CodeArray.unpack(bytes, start, width, count, lanes)
  }

  private def packed(start: Int, width: Int, i: Int): Int = width match {
    case 0  => 0
    case 16 => bytes.getShort(start + 2 * i) & 0xffff
    case _ =>
      val bit = i * width
      (bytes.get(start + (bit >>> 3)) >>> (bit & 7)) & ((1 << width) - 1)
  }
}

private[column] object PackedCodes {
  val EntryBytes = 4
  private val Widths = Seq(0, 1, 2, 4, 8, 16)

  /**
   * @param lower the codes of the lower side, from which blocks may store differences; null for the lower side itself
   */
  def encode(codes: Array[Char], lower: Array[Char]): Array[Byte] = {
    val firsts = codes.indices.by(Blocks.BlockRows)
    val table = new Output(firsts.size * EntryBytes)
    val data = new Output(codes.length + 64)
    firsts.foreach { first =>
      val block = codes.slice(first, first + Blocks.BlockRows)
      val alone = Block.of(block, relative = 0)
      val chosen =
        if (lower == null) alone
        else {
          val distances = block.indices.map(i => (block(i) - lower(first + i)).toChar).toArray
          Seq(alone, Block.of(distances, relative = 1)).minBy(_.width)
        }
      table.short(chosen.base).byte(chosen.width).byte(chosen.relative)
      data.raw(chosen.packed)
    }
    table.raw(data.toBytes).toBytes
  }

  private def blockBytes(rows: Int, width: Int): Int = (rows * width + 7) / 8

  private final class Block(codes: Array[Char], val base: Int, val width: Int, val relative: Int) {
    def packed: Array[Byte] = {
      val out = ByteBuffer.allocate(blockBytes(codes.length, width)).order(ByteOrder.LITTLE_ENDIAN)
      codes.indices.foreach { i =>
        val code = codes(i) - base
        val bit = i * width
        if (width == 16) out.putShort(2 * i, code.toShort)
        else if (width > 0) out.put(bit >>> 3, (out.get(bit >>> 3) | (code << (bit & 7))).toByte)
      }
      out.array()
    }
  }

  private object Block {
    def of(codes: Array[Char], relative: Int): Block = {
      val (least, greatest) = (codes.min.toInt, codes.max.toInt)
      val width = Widths.find(w => greatest - least < (1 << w)).get
      new Block(codes, if (width == 16) 0 else least, width, relative)
    }
  }
}
