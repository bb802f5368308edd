// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.record

import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.testing.Rng

class LaneNameTest extends AnyFunSuite {
  Seq(
    "gateway-7" -> "gateway-7",
    "a.b_c-D" -> "a.b_c-D",
    "." -> "%2E",
    ".." -> "%2E%2E",
    "..." -> "...",
    "a/b" -> "a%2Fb",
    "100%" -> "100%25",
    "ä" -> "%C3%A4",
    "a b" -> "a%20b"
  ).foreach { case (lane, folder) =>
    test(s"the lane '$lane' is the folder '$folder'") {
      assert(LaneName.encode(lane) == folder)
      assert(LaneName.decode(folder).contains(lane))
    }
  }

  Seq("", "x" * 201, "ä" * 34).foreach { lane =>
    test(s"a lane with ${lane.length} characters like '${lane.take(1)}' is refused") {
      val error = intercept[IllegalArgumentException](LaneName.encode(lane))
      assert(error.getMessage.startsWith(s"Cannot use the lane '$lane'"))
    }
  }

  Seq("", "%", "%2", "%2f", "%41", ".", "..", "%FF", "a b", "x" * 201).foreach { folder =>
    test(s"the folder '${folder.take(20)}' is that of no lane") {
      assert(LaneName.decode(folder).isEmpty)
    }
  }

  test("every lane is the lane of its folder") {
    val rng = new Rng(Rng.baseSeed)
    (0 until 2000).foreach { _ =>
      val lane = Seq.fill(1 + rng.int(20))(rng.int(0x2000).toChar).mkString
      if (lane.getBytes("UTF-8").length <= 66) assert(LaneName.decode(LaneName.encode(lane)).contains(lane), rng.seed)
    }
  }
}
