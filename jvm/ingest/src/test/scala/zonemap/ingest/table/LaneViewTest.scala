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

  test("a number that a branch has decided on is settled, also if another branch lists it as a hole or a gap") {
    val main = Watermark(seq = 9, atMillis = 1, holes = Set(3L), gaps = Seq(Gap(5, 9)))
    val audit = Watermark(seq = 7, atMillis = 1, since = 2)
    def place(seq: Long, audit: Watermark) = LaneView(Some(main), Seq(audit)).place(seq)
    assert(place(3, audit) == Settled && place(7, audit) == Settled)
    assert(place(8, audit) == Skipped(Gap(5, 9)))
    assert(LaneView(Some(main), Seq(audit)).next(9, 2, Set.empty, Set.empty, Nil, 16).holes.isEmpty)
    assert(place(3, audit.copy(seq = 2)) == Hole && place(3, audit.copy(holes = Set(3L))) == Hole)
    assert(place(3, audit.copy(gaps = Seq(Gap(2, 4)))) == Hole)
  }

  test("a hole on which another branch may have decided is never filled") {
    val main = Watermark(seq = 9, atMillis = 1, holes = Set(3L))
    assert(LaneView(Some(main), Seq(Watermark(7, 1, since = 6))).place(3) == PassedHole)
    assert(LaneView(Some(main), Seq(Watermark(7, 1, forgotten = 4))).place(3) == PassedHole)
  }

  test("a branch that follows another one keeps what it has decided, and the holes that it passes") {
    val main = Watermark(seq = 9, atMillis = 1, holes = Set(3L, 8L))
    val audit = LaneView(Some(Watermark(7, 1, since = 2)), Seq(main)).next(10, 2, Set.empty, Set.empty, Nil, 16)
    assert(audit.since == 9 && audit.filled == Set(3L) && audit.holes == Set(8L))
    val after = LaneView(Some(audit), Seq(main))
    assert(after.place(3) == Settled && after.place(8) == Hole && after.place(10) == Settled)
    val filled = after.next(10, 3, Set(8L), Set.empty, Nil, 16)
    assert(LaneView(Some(filled), Seq(main)).place(8) == Settled)
  }
}
