// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.layout

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Rng, Seeded}
import zonemap.core.column.ColumnBounds
import zonemap.core.predicate.ColumnRef
import zonemap.core.value.{LongType, LongValue, Presence, StringType, ZoneValue, ZoneValues}

/** Counts of files, averages and depths of random bounds equal those of a comparison of each pair of files. */
class FileIntervalsTest extends AnyFunSuite with Seeded {
  private val types = Seq(LongType, StringType)
  private val columns = Seq(ColumnRef(1, LongType, "a"), ColumnRef(2, StringType, "b"))

  private def bounds(random: Rng, value: Int => ZoneValue): ColumnBounds =
    random.int(12) match {
      case 0 => ColumnBounds.NothingKnown
      case 1 => ColumnBounds(null, null, tight = true, Presence.All, Presence.None)
      case 2 => ColumnBounds(value(random.int(9)), null, tight = true, Presence.None, Presence.None)
      case kind =>
        val start = random.int(20)
        val end = start + (if (kind < 5) 0 else random.int(10))
        val nulls = if (random.chance(20)) Presence.Some else Presence.None
        ColumnBounds(value(start), value(end), tight = random.chance(90), nulls, Presence.None)
    }

  private def text(number: Int): ZoneValue = ZoneValues.ofString(f"k$number%03d")

  private def upTo(left: Seq[ZoneValue], right: Seq[ZoneValue]): Boolean =
    left.zip(right).map { case (a, b) => a.compare(b) }.find(_ != 0).forall(_ < 0)

  for (places <- Seq(Seq(0), Seq(1), Seq(0, 1), Seq(1, 0)))
    test(s"random bounds of ${places.map(columns(_).name).mkString(", ")}") {
      rounds(60) { random =>
        val files = Seq.fill(1 + random.int(30))(Seq(bounds(random, i => LongValue(i.toLong)), bounds(random, text)))
        val found = FileIntervals.of(FilesOfBounds.of(types, files.size)(files(_)), places.map(columns))
        val chosen = files.map(file => places.map(file(_)))
        val (nulls, rest) = {
          val known = chosen.filterNot(_.exists(b => b.nulls != Presence.All && (b.lower == null || b.upper == null)))
          known.partition(_.exists(_.nulls == Presence.All))
        }
        assert(found.files == files.size && found.onlyNulls == nulls.size)
        assert(found.withoutBounds == files.size - nulls.size - rest.size)
        assert(found.constant == rest.count(_.forall(b => b.tight && b.nulls == Presence.None && b.lower == b.upper)))
        val intervals = rest.map(file => (file.map(_.lower), file.map(_.upper)))
        def meet(a: (Seq[ZoneValue], Seq[ZoneValue]), b: (Seq[ZoneValue], Seq[ZoneValue])) =
          upTo(a._1, b._2) && upTo(b._1, a._2)
        assert(found.overlaps.counts.toSeq == intervals.map(i => intervals.count(meet(i, _)) - 1))
        val depths = intervals.map { i =>
          intervals.map(_._1).filter(p => upTo(i._1, p) && upTo(p, i._2)).map(p => intervals.count(meet((p, p), _))).max
        }
        assert(found.overlaps.depths.toSeq == depths): Unit
      }
    }
}
