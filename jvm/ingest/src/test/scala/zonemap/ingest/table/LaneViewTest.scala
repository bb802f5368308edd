// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import org.scalatest.funsuite.AnyFunSuite

class LaneViewTest extends AnyFunSuite {
  import LanePlace._

  private val before = Watermark(seq = 20, atMillis = 1, holes = Set(5L), gaps = Seq(Gap(8, 10)), forgotten = 7)

  private def after(others: Seq[Watermark] = Nil): LaneView =
    LaneView(Some(LaneView(Some(before), others).next(20, 2, Set(5L), Set.empty, Nil, mostGaps = 16)), others)

  test("a record that fills a hole among forgotten numbers is settled from then on") {
    assert(LaneView(Some(before), Nil).place(5) == Hole)
    assert(after().place(5) == Settled)
    assert(after().place(6) == Forgotten(7))
    assert(after(Seq(before)).place(5) == Settled)
  }

  test("a state lists the greatest holes, and a repeat of a smaller one is never committed") {
    val opened = (0L to Watermark.MostHoles).toSet
    val next = LaneView(None, Nil).next(Watermark.MostHoles, 2, Set.empty, opened, Nil, mostGaps = 16)
    assert(next.holes == opened - 0 && next.forgotten == 0)
    val view = LaneView(Some(next), Nil)
    assert(view.place(0) == Forgotten(0) && view.place(1) == Hole && view.place(Watermark.MostHoles) == Hole)
  }

  test("a filled hole above the forgotten numbers leaves the state") {
    val recent = before.copy(holes = Set(15L))
    val next = LaneView(Some(recent), Nil).next(20, 2, Set(15L), Set.empty, Nil, mostGaps = 16)
    assert(next.filled.isEmpty)
    assert(LaneView(Some(next), Nil).place(15) == Settled)
  }
}
