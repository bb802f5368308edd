// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.{Seeded, TestModel}
import zonemap.core.column.{ColumnBounds, ColumnChoice, ColumnSpec}
import zonemap.core.value._

class MergeTest extends AnyFunSuite with Seeded {
  private val Provenances = Seq(Provenance.Unknown, Provenance.Engine, Provenance.Imported)

  private def segmentOf(
      columns: Seq[ColumnSpec],
      manifests: Seq[(Int, Seq[Array[ColumnBounds]])],
      limit: Int = 32767): Segment = {
    val builder = new SegmentBuilder(columns, limit)
    manifests.foreach { case (m, rows) =>
      builder.beginManifest(TestModel.manifest(m))
      rows.foreach { b =>
        val partition = builder.partition(0, Array(Int.box(m % 2)))
        val file = TestModel.file(m * 1000 + builder.rows, partition)
        builder.add(file.copy(provenance = Provenances(builder.rows % Provenances.size)), b)
      }
    }
    Segment.open(builder.build())
  }

  test("a merge is the union of the live manifests, in order") {
    rounds(40) { rng =>
      val types = Seq.fill(3)(rng.pick(TestModel.types))
      val columns = types.zipWithIndex.map { case (t, i) => ColumnSpec(i + 1, t) }
      var next = 0
      val inputs = Seq.fill(1 + rng.int(3)) {
        // A segment may lack the last columns.
        val known = columns.take(1 + rng.int(3))
        val manifests = Seq.fill(1 + rng.int(3)) {
          next += 1
          next -> Seq.fill(rng.int(40))(known.map(c => TestModel.anyBounds(c.columnType, rng)).toArray)
        }
        val live = manifests.indices.filter(_ => rng.chance(70))
        (segmentOf(known, manifests, rng.pick(Seq(2, 32767))), live)
      }
      val merged = Segment.open(SegmentMerger.merge(inputs, maxBoundaries = rng.pick(Seq(2, 4, 32767))))
      val sources =
        for ((s, live) <- inputs; m <- live;
          r <- s.manifests(m).firstRow until s.manifests(m).firstRow + s.manifests(m).rowCount) yield (s, r)
      assert(merged.rows == sources.size)
      assert(merged.manifests.map(_.identity) == inputs.flatMap { case (s, live) => live.map(s.manifests(_).identity) })
      sources.zipWithIndex.foreach { case ((s, r), row) =>
        assert(merged.path(row) == s.path(r) && merged.provenance(row) == s.provenance(r))
        val (a, b) = (merged.partitions(merged.partitionOrdinal(row)), s.partitions(s.partitionOrdinal(r)))
        assert(a.specId == b.specId && a.values.sameElements(b.values))
        columns.foreach { c =>
          val expected = s.column(c.fieldId).map(_.bounds(r)).getOrElse(RoundTripTest.stored(c.columnType, null))
          merged.column(c.fieldId).foreach(m => assert(m.bounds(row) == expected))
        }
      }
    }
  }

  private def one(t: ColumnType, value: ZoneValue) =
    segmentOf(
      Seq(ColumnSpec(1, t)),
      Seq(0 -> Seq(Array(ColumnBounds(value, value, tight = true, Presence.None, Presence.None)))))

  test("a promoted column takes the wider type: int and long, decimals across 18 digits") {
    val small = DecimalType(10, 2)
    val large = DecimalType(38, 2)
    val five = java.math.BigInteger.valueOf(-5)
    Seq(
      (IntType, LongValue(3), LongType, LongValue(3)),
      (FloatType, ZoneValues.ofDouble(1.5), DoubleType, ZoneValues.ofDouble(1.5)),
      (small, ZoneValues.ofDecimal(five, small), large, ZoneValues.ofDecimal(five, large))
    ).foreach { case (narrow, value, wide, same) =>
      val merged = Segment.open(SegmentMerger.merge(Seq(one(narrow, value) -> Seq(0), one(wide, same) -> Seq(0))))
      assert(merged.column(1).get.columnType == wide)
      assert((0 to 1).map(merged.column(1).get.upper) == Seq(same, same))
    }
  }

  test("columns that are not chosen are left out, and the files stay") {
    val value = LongValue(4)
    val bounds = ColumnBounds(value, value, tight = true, Presence.None, Presence.None)
    val columns = Seq(ColumnSpec(1, LongType), ColumnSpec(2, LongType))
    val both = segmentOf(columns, Seq(0 -> Seq(Array(bounds, bounds))))
    val merged = Segment.open(SegmentMerger.merge(Seq(both -> Seq(0)), ColumnChoice.only(Seq(2, 9))))
    assert(merged.columnIds == Set(2) && merged.rows == 1 && merged.column(2).get.lower(0) == value)
  }

  test("a field id used again with another type: nothing is known of the old files") {
    val merged = Segment.open(
      SegmentMerger.merge(
        Seq(one(StringType, ZoneValues.ofString("x")) -> Seq(0), one(LongType, LongValue(4)) -> Seq(0))))
    val column = merged.column(1).get
    assert(column.columnType == LongType && column.lower(0) == null && column.nulls(0) == Presence.Unknown)
    assert(column.lower(1) == LongValue(4))
  }
}
