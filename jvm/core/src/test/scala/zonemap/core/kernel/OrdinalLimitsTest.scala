// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Rng, Seeded, TestModel}
import zonemap.core.column.{Bitmap, Blocks, BoundsColumn, CodeLanes, ColumnBounds, ColumnSpec}
import zonemap.core.eval.SegmentEvaluator
import zonemap.core.predicate.{ColumnRef, CompareColumns, CompareOp}
import zonemap.core.rule.{ColumnPair, ColumnZone, Match}
import zonemap.core.value.{LongType, LongValue, Presence}

/** Comparing two columns four rows at a time gives the same results as row by row, for every distribution of values. */
class OrdinalLimitsTest extends AnyFunSuite with Seeded {
  private val specs = Seq(1, 2).map(ColumnSpec(_, LongType))
  private val columns = Seq(1, 2).map(id => ColumnRef(id, LongType, s"c$id"))
  private val rows = 3 * Blocks.BlockRows + 77

  private def bounds(from: Long, width: Long, rng: Rng) =
    if (rng.chance(2)) ColumnBounds(LongValue(from), null, tight = false, Presence.None, Presence.None)
    else ColumnBounds(LongValue(from), LongValue(from + width), tight = true, Presence.None, Presence.None)

  /** Distributions of the two columns: alike, far apart, of different density, and close to each other in each row. */
  private val shapes: Seq[Rng => (Long, Long)] = Seq(
    rng => (rng.int(1 << 30).toLong, rng.int(1 << 30).toLong),
    rng => (rng.int(1 << 20).toLong, (1L << 20) - 1000 + rng.int(1 << 20)),
    rng => (rng.int(1 << 20).toLong, (rng.int(1 << 10).toLong * rng.int(1 << 10))),
    rng => { val from = rng.int(1 << 30).toLong; (from, from + rng.int(2000) - 1000) }
  )

  test("as the reference, for each operator, with few boundaries and with many") {
    rounds(8) { rng =>
      shapes.zipWithIndex.foreach { case (shape, number) =>
        val values = Seq.fill(rows) {
          val (left, right) = shape(rng)
          Array(bounds(left, rng.int(1000).toLong, rng), bounds(right, rng.int(1000).toLong, rng))
        }
        val segment = TestModel.segment(specs, values, rng.pick(Seq(2, 50, 1000, 32767)))
        Seq(CompareOp.Lt, CompareOp.LtEq, CompareOp.Eq).foreach { op =>
          val predicate = CompareColumns(columns.head, op, columns(1))
          val may = SegmentEvaluator.mayMatch(segment, predicate, Bitmap.full(rows))
          val expected = (0 until rows).map { row =>
            val zones = columns.indices.map(i => ColumnZone(LongType, values(row)(i)))
            ColumnPair.evaluate(op, zones.head, zones(1)) != Match.None
          }
          val wrong = (0 until rows).find(row => may(row) != expected(row))
          wrong.foreach(row => fail(s"shape $number, $op, row $row: ${values(row).toSeq}, expected ${expected(row)}"))
          if (op != CompareOp.Eq && number != 1) assert(expected.contains(true) && expected.contains(false), number)
        }
      }
    }
  }

  test("limits of all codes together agree with those of each") {
    var (settled, dear) = (0L, 0)
    rounds(100) { rng =>
      val shape = rng.pick(shapes)
      val values = Seq.fill(rows) { val (l, r) = shape(rng); Array(bounds(l, 10, rng), bounds(r, 10, rng)) }
      val segment = TestModel.segment(specs, values, rng.pick(Seq(3, 2000, 32767)))
      for (strictly <- Seq(false, true)) {
        val (above, below) = (segment.column(1).get, segment.column(2).get)
        val pairs = CodePairs.of(above, below, strictly)
        val together = OrdinalLimits.of(pairs)
        def code(column: BoundsColumn) = (1 + rng.int(2 * column.dictionary.size - 1)).toChar
        val count = 1 + rng.int(Blocks.BlockRows)
        val lower = Array.fill(count)(code(above))
        val areClose = rng.chance(50)
        val upper = lower.map { c =>
          if (areClose) (1 + rng.int(8) + c / 8 * 8).min(2 * below.dictionary.size - 1).toChar else code(below)
        }
        val (first, second) = (new Array[Long](16), new Array[Long](16))
        val lanes = CodeLanes.of(upper)
        def bit(words: Array[Long], i: Int) = (words(i >> 6) & 1L << i) != 0
        if (together.compare(lanes, CodeLanes.of(lower), count, first, second)) {
          together.lookUp(lanes, CodeLanes.of(lower), count, first, second)
          (0 until count).foreach { i =>
            val pair = s"${lower(i).toInt} ${upper(i).toInt}"
            assert(bit(first, i) == lower(i) < pairs.first(upper(i).toInt), pair)
            assert(bit(second, i) == lower(i) < pairs.second(upper(i).toInt), pair)
          }
          settled += count
        } else {
          dear += 1
          pairs.limits.belowFirst(CodeLanes.of(upper), CodeLanes.of(lower), count, first)
          pairs.limits.belowSecond(CodeLanes.of(upper), CodeLanes.of(lower), count, second)
          (0 until count).foreach { i =>
            assert(bit(first, i) == lower(i) < pairs.first(upper(i).toInt))
            assert(bit(second, i) == lower(i) < pairs.second(upper(i).toInt))
          }
        }
      }
    }
    assert(settled > 5000 && dear > 5, s"$settled rows were compared together, $dear blocks were not")
  }
}
