// SPDX-License-Identifier: Apache-2.0
package zonemap.core.eval

import java.util.UUID

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Rng, Seeded, TestModel, TestPredicates}
import zonemap.core.column.ColumnBounds
import zonemap.core.rule.{ColumnZone, Match, ZoneMatch}
import zonemap.core.value.{BinaryType, ColumnType, LongType, Presence, StringType, UuidType}

/** On files with known rows: NONE proves that the predicate is TRUE for no row, ALL that it is TRUE for every row. */
class SoundnessTest extends AnyFunSuite with Seeded {

  private def column(t: ColumnType, rows: Int, rng: Rng): Seq[Any] = {
    val constant = if (rng.chance(30)) Some(TestModel.value(t, rng)) else None
    val nulls = rng.pick(Seq(0, 0, 20, 100))
    val nans = if (t.mayHoldNaN) rng.pick(Seq(0, 0, 20, 100)) else 0
    Seq.fill(rows) {
      if (rng.chance(nulls)) null
      else if (rng.chance(nans)) Double.NaN
      else constant.getOrElse(TestModel.value(t, rng))
    }
  }

  /**
   * Bounds and counts that a writer may truthfully record: exact, widened, truncated or absent bounds, with or without
   * counts.
   */
  private def bounds(t: ColumnType, cells: Seq[Any], rng: Rng): ColumnBounds = {
    def isNaN(v: Any) = v.isInstanceOf[Double] && v.asInstanceOf[Double].isNaN
    val nullCount = cells.count(_ == null)
    val nanCount = cells.count(v => v != null && isNaN(v))
    val values = cells.filter(v => v != null && !isNaN(v))
    val nulls = if (rng.chance(20)) Presence.Unknown else Presence.ofCounts(nullCount, cells.size)
    val nans = if (rng.chance(20)) Presence.Unknown else Presence.ofCounts(nanCount, cells.size)
    if (values.isEmpty) ColumnBounds(null, null, tight = false, nulls, nans)
    else {
      val order = ordering(t, rng)
      val low = values.min(order)
      val high = values.max(order)
      val tight = t match {
        case StringType | BinaryType | UuidType => false
        case _                                  => rng.chance(70)
      }
      val (lo, hi) = if (tight) (low, Some(high)) else widen(t, low, high, rng)
      ColumnBounds(
        if (!tight && rng.chance(10)) null else TestModel.encode(t, lo),
        if (!tight && rng.chance(10)) null else hi.map(TestModel.encode(t, _)).orNull,
        tight,
        nulls,
        nans)
    }
  }

  /** The order of values that a writer uses; for uuids it is either of the two orders in use. */
  private def ordering(t: ColumnType, rng: Rng): Ordering[Any] =
    if (t == UuidType && rng.chance(50)) (a: Any, b: Any) => a.asInstanceOf[UUID].compareTo(b.asInstanceOf[UUID])
    else (a: Any, b: Any) => TestModel.compare(a, b)

  private def widen(t: ColumnType, low: Any, high: Any, rng: Rng): (Any, Option[Any]) = (low, high) match {
    case (l: Long, h: Long) if t == LongType && l > Long.MinValue && h < Long.MaxValue =>
      (l - rng.int(2), Some(h + rng.int(2)))
    case (l: String, h: String) => (prefix(l, 2), upperPrefix(h, 2))
    case _                      => (low, Some(high))
  }

  private def prefix(s: String, points: Int): String =
    if (s.codePointCount(0, s.length) <= points) s else s.substring(0, s.offsetByCodePoints(0, points))

  /**
   * Truncates an upper bound as Iceberg does: cuts the text, then increments the last code point that can be
   * incremented.
   */
  private def upperPrefix(s: String, points: Int): Option[String] = {
    val cut = prefix(s, points)
    if (cut == s) Some(s)
    else {
      val last = cut.codePointBefore(cut.length)
      Some(cut.substring(0, cut.length - Character.charCount(last)) + new String(Character.toChars(last + 1)))
    }
  }

  test("proofs hold for the rows of the file") {
    var none = 0
    var all = 0
    rounds(1500) { rng =>
      val types = Seq.fill(3)(rng.pick(TestModel.types))
      val count = 1 + rng.int(6)
      val cells = types.map(column(_, count, rng))
      val rows = (0 until count).map(r => types.indices.map(c => (c + 1) -> cells(c)(r)).toMap)
      val known = types.zip(cells).map { case (t, c) => bounds(t, c, rng) }
      (0 until 20).foreach { _ =>
        val told = TestPredicates.tree(types, 2, rng)
        val result = ZoneMatch.evaluate(told.predicate, id => Some(ColumnZone(types(id - 1), known(id - 1))))
        lazy val clue = s"${told.predicate} on $rows with $known"
        result match {
          case Match.None => none += 1; rows.foreach(row => assert(!told.isTrue(row), s"skipped: $clue"))
          case Match.All  => all += 1; rows.foreach(row => assert(told.isTrue(row), s"claimed whole: $clue"))
          case Match.Some => ()
        }
      }
    }
    // The test is only useful if it meets many proofs.
    assert(none > 5000 && all > 1000, s"$none NONE and $all ALL of 30,000")
  }
}
