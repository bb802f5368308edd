// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Rng, Seeded}

/** Comparing and adding packed lanes of 16 bits gives the same results as single numbers. */
class CodeLanesTest extends AnyFunSuite with Seeded {

  /** A random code, often an end of the range or of one of its halves, or a neighbour of such an end. */
  private def code(rng: Rng): Int = rng.pick(Seq(0, 1, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff, rng.int(65536)))

  private def rows(count: Int)(ofLanes: Array[Long]): Seq[Boolean] = {
    val out = new Array[Long](16)
    CodeLanes.bits(ofLanes, ofLanes.length, out)
    (0 until count).map(i => (out(i >> 6) & 1L << i) != 0)
  }

  test("compared with a code, and with one another") {
    rounds(20) { rng =>
      val count = 1 + rng.int(1024)
      val asked = code(rng)
      val x = Array.fill(count)((if (rng.chance(40)) asked + rng.int(3) - 1 else code(rng)).toChar)
      val y = x.map(c => (if (rng.chance(40)) c + rng.int(3) - 1 else code(rng)).toChar)
      val (ofX, ofY) = (CodeLanes.of(x), CodeLanes.of(y))
      val lanes = new Array[Long](ofX.length)
      CodeLanes.atLeast(ofX, asked, ofX.length, lanes)
      assert(rows(count)(lanes) == x.toSeq.map(_ >= asked))
      CodeLanes.andBelow(ofY, asked, ofX.length, lanes)
      assert(rows(count)(lanes) == x.zip(y).toSeq.map { case (a, b) => a >= asked && b < asked })
      val any = CodeLanes.equal(ofX, asked, ofX.length, lanes)
      assert(any || !x.contains(asked.toChar))
      assert(rows(count)(lanes) == x.toSeq.map(_ == asked))
      val same = rows(count)(ofX.zip(ofY).map { case (a, b) => CodeLanes.equal(a, b) })
      assert(same == x.zip(y).toSeq.map { case (a, b) => a == b })
    }
  }

  test("lanes of which few are set") {
    rounds(20) { rng =>
      val x = Array.fill(1 + rng.int(1024))(code(rng).toChar)
      val y = x.map(c => (if (rng.chance(40)) c + rng.int(3) - 1 else code(rng)).toChar)
      val ofX = CodeLanes.of(x)
      val out = new Array[Long](ofX.length)
      val set = x.map(_ => (if (rng.chance(5)) 0x8000 + rng.int(0x8000) else rng.int(0x8000)).toChar)
      val before = Array.fill(16)(rng.long())
      val after = before.clone()
      CodeLanes.addFewBits(CodeLanes.of(set), ofX.length, after)
      set.indices.foreach { i =>
        def bit(words: Array[Long]) = (words(i >> 6) & 1L << i) != 0
        assert(bit(after) == (bit(before) || set(i) >= 0x8000), s"$i")
      }
    }
  }

  test("added and changed one by one") {
    rounds(20) { rng =>
      val x = Array.fill(1 + rng.int(100))(code(rng).toChar)
      val y = x.map(_ => code(rng).toChar)
      val sums = CodeLanes.of(x).zip(CodeLanes.of(y)).map { case (a, b) => CodeLanes.plus(a, b) }
      x.indices.foreach(i => assert(CodeLanes.get(sums, i) == ((x(i) + y(i)) & 0xffff)))
      val lanes = CodeLanes.of(x)
      val changed = rng.int(x.length)
      CodeLanes.set(lanes, changed, 0xabcd)
      x.indices.foreach(i => assert(CodeLanes.get(lanes, i) == (if (i == changed) 0xabcd else x(i).toInt)))
    }
  }
}
