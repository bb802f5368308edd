// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.layout

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.Seeded

/** Counts and depths of intervals equal those of a comparison of each pair of intervals. */
class OverlapsTest extends AnyFunSuite with Seeded {

  private def overlaps(intervals: Seq[(Long, Long)]): Overlaps =
    Overlaps.of(RankedIntervals.ofLongs(intervals.map(_._1).toArray, intervals.map(_._2).toArray))

  private def countOf(intervals: Seq[(Long, Long)], i: Int): Int =
    intervals.indices.count { j =>
      j != i && intervals(j)._1 <= intervals(i)._2 && intervals(i)._1 <= intervals(j)._2
    }

  /** Some deepest point of an interval is the first point of an interval. */
  private def depthOf(intervals: Seq[(Long, Long)], i: Int): Int = {
    val (lower, upper) = intervals(i)
    val starts = intervals.map(_._1).filter(s => s >= lower && s <= upper)
    starts.map(point => intervals.count { case (l, u) => l <= point && point <= u }).max
  }

  private val cases: Seq[(String, Seq[(Long, Long)], Seq[Int], Seq[Int])] = Seq(
    ("none", Nil, Nil, Nil),
    ("one", Seq((3L, 3L)), Seq(0), Seq(1)),
    ("apart", Seq((0L, 1L), (2L, 3L)), Seq(0, 0), Seq(1, 1)),
    ("one shared end", Seq((0L, 2L), (2L, 3L)), Seq(1, 1), Seq(2, 2)),
    ("a chain", Seq((0L, 2L), (1L, 4L), (3L, 5L)), Seq(1, 2, 1), Seq(2, 2, 2)),
    ("one over all", Seq((0L, 9L), (1L, 2L), (5L, 6L)), Seq(2, 1, 1), Seq(2, 2, 2)),
    ("equal points", Seq((7L, 7L), (7L, 7L), (7L, 7L)), Seq(2, 2, 2), Seq(3, 3, 3)),
    ("extremes", Seq((Long.MinValue, Long.MaxValue), (Long.MaxValue, Long.MaxValue)), Seq(1, 1), Seq(2, 2))
  )

  for ((name, intervals, counts, depths) <- cases)
    test(s"intervals: $name") {
      val found = overlaps(intervals)
      assert(found.counts.toSeq == counts && found.depths.toSeq == depths)
    }

  test("random intervals, as numbers and as objects, equal the comparison of each pair") {
    rounds(300) { random =>
      val domain = 1 + random.int(60)
      val intervals = Seq.fill(random.int(40)) {
        val start = random.int(domain).toLong
        (start, start + random.int(1 + random.int(domain)))
      }
      val found = overlaps(intervals)
      assert(found.counts.toSeq == intervals.indices.map(countOf(intervals, _)), intervals)
      assert(found.depths.toSeq == intervals.indices.map(depthOf(intervals, _)), intervals)
      val boxed = RankedIntervals.of[java.lang.Long](
        intervals.map(i => Long.box(i._1)).toArray,
        intervals.map(i => Long.box(i._2)).toArray,
        (a, b) => a.compareTo(b))
      val same = Overlaps.of(boxed)
      assert(same.counts.sameElements(found.counts) && same.depths.sameElements(found.depths))
    }
  }
}
