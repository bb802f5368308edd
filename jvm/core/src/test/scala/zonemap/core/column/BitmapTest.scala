// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.Seeded

class BitmapTest extends AnyFunSuite with Seeded {

  test("agrees with a set of integers") {
    rounds(500) { rng =>
      val size = 1 + rng.int(300)
      val a = (0 until size).filter(_ => rng.chance(30)).toSet
      val from = rng.int(size)
      val to = from + rng.int(size - from + 1)
      val bits = Bitmap.of(size, a.toSeq: _*)
      assert(bits.toArray.toSet == a && bits.cardinality == a.size && bits.isEmpty == a.isEmpty)
      val range = Bitmap.empty(size)
      range.setRange(from, to)
      val b = (from until to).toSet
      assert(range.toArray.toSet == b)
      assert(bits.copy().and(range).toArray.toSet == (a & b))
      assert(bits.copy().or(range).toArray.toSet == (a | b))
      assert(bits.copy().andNot(range).toArray.toSet == (a -- b))
      assert(Iterator.iterate(bits.nextSetBit(0))(r => bits.nextSetBit(r + 1)).takeWhile(_ >= 0).toSet == a)
      assert(Bitmap.full(size).cardinality == size)
      ()
    }
  }
}
