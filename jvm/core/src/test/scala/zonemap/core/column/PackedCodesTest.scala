// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import java.nio.{ByteBuffer, ByteOrder}

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.Seeded
import zonemap.core.io.CorruptIndexException

/** Packed codes decode to the original codes, as whole blocks and one by one, for every range of codes. */
class PackedCodesTest extends AnyFunSuite with Seeded {
  private def buffer(bytes: Array[Byte]): ByteBuffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)

  private def check(codes: Array[Char], read: CodeArray): Unit = {
    codes.indices.foreach(row => assert(read(row) == codes(row).toInt, s"row $row"))
    val lanes = new Array[Long](CodeLanes.length(Blocks.BlockRows))
    codes.indices.by(Blocks.BlockRows).foreach { first =>
      val count = Math.min(Blocks.BlockRows, codes.length - first)
      read.copy(first / Blocks.BlockRows, count, lanes)
      assert((0 until count).forall(i => CodeLanes.get(lanes, i) == codes(first + i)), s"block at $first")
    }
  }

  /** Decodes the upper codes given the lower codes. Blocks that do not depend on the lower codes get arbitrary ones. */
  private def checkBeside(upper: Array[Char], first: PackedCodes, second: PackedCodes): Unit = {
    val (ofLower, lanes) = (new Array[Long](256), new Array[Long](256))
    upper.indices.by(Blocks.BlockRows).foreach { row =>
      val (block, count) = (row / Blocks.BlockRows, Math.min(Blocks.BlockRows, upper.length - row))
      assert(!first.isBeside(block))
      if (second.isBeside(block)) first.copy(block, count, ofLower) else java.util.Arrays.fill(ofLower, 0x5555L)
      second.copyBeside(block, count, lanes, ofLower)
      assert((0 until count).forall(i => CodeLanes.get(lanes, i) == upper(row + i)), s"block at $row")
    }
  }

  private def checkBoth(lower: Array[Char], upper: Array[Char]): (Int, Int) = {
    val (packedLower, packedUpper) = (PackedCodes.encode(lower, null), PackedCodes.encode(upper, lower))
    val first = new PackedCodes(buffer(packedLower), lower.length, null)
    val second = new PackedCodes(buffer(packedUpper), upper.length, first)
    check(lower, first)
    check(upper, second)
    checkBeside(upper, first, second)
    assert(first.length == packedLower.length)
    (packedLower.length, packedUpper.length)
  }

  test("random codes of every width, absent bounds among them") {
    rounds(2) { random =>
      for (span <- Seq(1, 2, 3, 4, 5, 16, 17, 200, 256, 257, 5000, 65536); rows <- Seq(1, 1023, 1024, 3000)) {
        val base = random.int(65536 - span + 1)
        val lower = Array.fill(rows)((base + random.int(span)).toChar)
        val near = lower.map(code => Math.min(0xffff, code + random.int(4)).toChar)
        val far = Array.fill(rows)(random.int(65536).toChar)
        val absent = lower.map(code => if (random.chance(10)) Dictionary.NoUpper.toChar else code)
        Seq(near, far, absent).foreach(checkBoth(lower, _))
      }
    }
  }

  test("codes that follow the rows: a byte for the lower bound, two bits for the upper one") {
    val lower = Array.tabulate(10240)(row => (2 * (row / 16) + row % 2).toChar)
    val (ofLower, ofUpper) = checkBoth(lower, lower.map(code => (code + code % 3).toChar))
    assert(ofLower <= 10240 + 40 && ofUpper <= 10240 / 4 + 40)
  }

  test("damaged block tables are refused") {
    val packed = PackedCodes.encode(Array.fill(2000)('x'), null)
    def damaged(change: Array[Byte] => Unit): Unit = {
      val bytes = packed.clone()
      change(bytes)
      intercept[CorruptIndexException](new PackedCodes(buffer(bytes), 2000, null)): Unit
    }
    damaged(_(2) = 3)
    damaged(_(2) = 16)
    damaged(_(3) = 1)
    damaged(_(3) = 2)
  }

  test("codes of one and of two bytes a row") {
    rounds(4) { random =>
      val rows = random.pick(Seq(1, 7, 1024, 2047, 3000))
      val codes = Array.fill(rows)((if (random.chance(10)) 0xffff else random.int(255)).toChar)
      check(codes, new CodeArray.Bytes(buffer(codes.map(_.toByte))))
      val wide = ByteBuffer.allocate(2 * rows).order(ByteOrder.LITTLE_ENDIAN)
      codes.foreach(wide.putChar)
      check(codes, new CodeArray.Chars(wide))
    }
  }
}
