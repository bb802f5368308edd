// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.Seeded

/** Looking up all boundaries of another dictionary at once gives the same codes as looking up each value. */
class DictionaryTest extends AnyFunSuite with Seeded {
  test("codes of all boundaries of another dictionary") {
    rounds(200) { rng =>
      def ascending() = {
        val (domain, shift) = (rng.pick(Seq(5, 300, 100000)), rng.pick(Seq(0, 50, 1000000)))
        Array.fill(rng.int(400))(rng.int(domain).toLong + shift).sorted.distinct
      }
      val dictionary = Dictionary.ofLongs(ascending())
      val others = ascending() ++ (if (rng.chance(20)) Seq(Long.MaxValue) else Nil)
      assert(dictionary.codesOf(Dictionary.ofLongs(others)).toSeq == others.toSeq.map(dictionary.code(_)))
    }
  }
}
