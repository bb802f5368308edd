// SPDX-License-Identifier: Apache-2.0
package zonemap.spark

import org.scalatest.funsuite.AnyFunSuite

class VersionsTest extends AnyFunSuite {
  for ((text, expected) <- Seq(
      "4.1.3" -> ((4, 1)),
      "4.1" -> ((4, 1)),
      "4.10.0" -> ((4, 10)),
      "1.11.0-SNAPSHOT" -> ((1, 11)),
      "1.12-rc1" -> ((1, 12)),
      "4" -> ((4, 0)),
      "" -> ((0, 0)),
      "unknown" -> ((0, 0))))
    test(s"'$text' is $expected")(assert(Versions.majorMinor(text) == expected))

  test("versions compare as numbers, not as text") {
    assert(Ordering[(Int, Int)].lt(Versions.majorMinor("1.9.2"), Versions.majorMinor("1.11.0")))
  }
}
