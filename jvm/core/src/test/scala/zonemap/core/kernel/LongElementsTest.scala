// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Rng, Seeded, TestModel}
import zonemap.core.column.{Bitmap, ColumnBounds, ColumnSpec}
import zonemap.core.eval.SegmentEvaluator
import zonemap.core.predicate.{ColumnRef, In, NotIn, SortedValues}
import zonemap.core.rule.{ColumnZone, Match, ZoneMatch, ZoneStats}
import zonemap.core.value.{LongType, LongValue, Presence}

/**
 * Large sets of numbers against exact bounds match the reference. Most rows are decided by the gaps between boundaries.
 */
class LongElementsTest extends AnyFunSuite with Seeded {
  private val key = ColumnRef(1, LongType, "key")

  private def known(lower: Long, upper: Long, rng: Rng) =
    ColumnBounds(
      if (rng.chance(2)) null else LongValue(lower),
      if (rng.chance(2)) null else LongValue(upper),
      tight = true,
      Presence.None,
      Presence.None)

  /** A random number of `width` bits; a width of 64 gives any long, negative ones included. */
  private def random(width: Int, rng: Rng): Long = if (width == 64) rng.long() else rng.long() >>> (64 - width)

  test("keys of every width, near to bounds and boundaries and far from them") {
    var (kept, skipped) = (0, 0)
    rounds(60) { rng =>
      val width = rng.pick(Seq(6, 12, 30, 48, 62, 63, 64))
      // Ranges of a single value, of one fixed width, and of random widths.
      val spans = rng.pick(Seq[() => Long](() => 0L, () => 1000L, () => random(1 + rng.int(width), rng)))
      val ends = Seq.fill(1 + rng.int(2500)) {
        val from = random(width, rng)
        val to = from + spans()
        if (from <= to) (from, to) else (to, from)
      }
      val bounds = ends.map { case (from, to) => known(from, to, rng) }
      val boundaries = rng.pick(Seq(2, 3, 40, 300))
      val segment = TestModel.segment(Seq(ColumnSpec(1, LongType)), bounds.map(Array(_)), boundaries)
      val values = Array.fill(rng.pick(Seq(1, 30, 3000))) {
        if (rng.chance(70)) random(width, rng)
        else {
          val (from, to) = rng.pick(ends)
          rng.pick(Seq(from, to)) + rng.int(3) - 1
        }
      }
      val set = SortedValues.ofLongs(values)
      for (predicate <- Seq(In(key, set), NotIn(key, set))) {
        val all = Bitmap.full(bounds.size)
        val may = SegmentEvaluator.mayMatch(segment, predicate, all)
        val must = SegmentEvaluator.mustMatch(segment, predicate, all)
        bounds.indices.foreach { row =>
          val stats = new ZoneStats {
            override def column(fieldId: Int): Option[ColumnZone] = Some(ColumnZone(LongType, bounds(row)))
          }
          val expected = ZoneMatch.evaluate(predicate, stats)
          assert(
            may(row) == (expected != Match.None),
            s"row $row, ${bounds(row)}, width $width, $boundaries boundaries")
          assert(
            must(row) == (expected == Match.All),
            s"row $row, ${bounds(row)}, width $width, $boundaries boundaries")
        }
        if (predicate == In(key, set)) {
          kept += may.cardinality
          skipped += bounds.size - may.cardinality
        }
      }
    }
    assert(kept > 5000 && skipped > 5000, s"$kept files are kept, $skipped are not")
  }
}
