// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.util.Random

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.column.{Bitmap, CoarseBounds, ColumnBounds, ColumnSpec}
import zonemap.core.eval.SegmentEvaluator
import zonemap.core.predicate.{And, ColumnRef, Compare, CompareOp, IsNull, Predicate}
import zonemap.core.value.{ColumnType, LongType, Presence, StringType, ZoneValue, ZoneValues}

/**
 * A column whose bounds prune little is stored with bounds rounded outward, in one byte each. Other columns keep exact
 * bounds.
 */
class CoarseColumnTest extends AnyFunSuite {
  private val random = new Random(7)
  private val added = scala.collection.mutable.ArrayBuffer.empty[Array[ColumnBounds]]
  private val rows = 3 * CoarseBounds.MinRows + 17
  private val specs = Seq(ColumnSpec(1, LongType), ColumnSpec(2, LongType), ColumnSpec(3, StringType))

  /**
   * Column 1 follows the row number, column 2 spans about 0 to a million in every row, column 3 spans "a.." to "y..".
   */
  private def bounds(row: Int): Array[ColumnBounds] = Array(
    known(ZoneValues.ofLong(row * 10L), ZoneValues.ofLong(row * 10L + 9)),
    known(ZoneValues.ofLong(100L + random.nextInt(5000)), ZoneValues.ofLong(1000000L - random.nextInt(5000))),
    known(ZoneValues.ofString(f"a${random.nextInt(9999)}%04d"), ZoneValues.ofString(f"y${random.nextInt(9999)}%04d"))
  )

  private def known(lower: ZoneValue, upper: ZoneValue): ColumnBounds =
    ColumnBounds(lower, upper, tight = true, Presence.None, Presence.None)

  private def segment(count: Int): Array[Byte] = {
    val builder = new SegmentBuilder(specs)
    builder.beginManifest(ManifestIdentity("m", 1, 0, 0, 1, 1, 1L, null, count, 0, 0, null, null, null))
    val partition = builder.partition(0, Array.empty)
    (0 until count).foreach { row =>
      val known = bounds(row)
      if (count == rows) added += known
      builder.add(FileEntry(s"f$row", "PARQUET", 1, 1, partition, 1, 1, null, null, null), known)
    }
    builder.build()
  }

  private lazy val largeBytes = segment(rows)
  private lazy val large = Segment.open(largeBytes)

  /** The bounds of a column as the test passed them to the builder. */
  private def given(fieldId: Int): IndexedSeq[ColumnBounds] = added.map(_(fieldId - 1)).toIndexedSeq

  private def kept(segment: Segment, predicate: Predicate): Int =
    SegmentEvaluator.mayMatch(segment, predicate, Bitmap.full(segment.rows)).cardinality

  private def equal(fieldId: Int, columnType: ColumnType, value: ZoneValue): Predicate =
    Compare(ColumnRef(fieldId, columnType, s"c$fieldId"), CompareOp.Eq, value)

  test("a column that follows the rows keeps its bounds, columns that span their domain do not") {
    assert(specs.map(s => StoredColumn.isCoarse(largeBytes, s.fieldId)) == Seq(false, true, true))
    assert(large.column(2).get.nulls(5) == Presence.None)
  }

  test("rounded bounds are valid, and never tight") {
    val exact = given(2)
    (0 until rows by 97).foreach { row =>
      val rounded = large.column(2).get.bounds(row)
      assert(rounded.lower.compare(exact(row).lower) <= 0 && rounded.upper.compare(exact(row).upper) >= 0)
      assert(!rounded.tight)
    }
  }

  test("a value inside keeps every file, a value that no file can hold keeps none") {
    assert(kept(large, equal(2, LongType, ZoneValues.ofLong(500000))) == rows)
    assert(kept(large, equal(2, LongType, ZoneValues.ofLong(99))) == 0)
    assert(kept(large, equal(2, LongType, ZoneValues.ofLong(1000001))) == 0)
    assert(kept(large, equal(3, StringType, ZoneValues.ofString("m"))) == rows)
    assert(kept(large, equal(3, StringType, ZoneValues.ofString("zz"))) == 0)
    assert(kept(large, IsNull(ColumnRef(2, LongType, "c2"))) == 0)
  }

  test("literals among the bounds keep at most 2 % more files than exact bounds would") {
    Seq(200L, 1000L, 2500L, 997000L, 999000L).foreach { literal =>
      val value = ZoneValues.ofLong(literal)
      val exact = given(2).count(b => b.lower.compare(value) <= 0 && b.upper.compare(value) >= 0)
      val coarse = kept(large, equal(2, LongType, value))
      assert(coarse >= exact && coarse - exact <= rows / 50, s"literal $literal")
    }
  }

  test("rounded bounds prove nothing that only tight bounds prove") {
    val below = Compare(ColumnRef(2, LongType, "c2"), CompareOp.Lt, ZoneValues.ofLong(500000))
    assert(SegmentEvaluator.mustMatch(large, below, Bitmap.full(rows)).isEmpty)
  }

  test("the column that prunes still prunes beside them") {
    assert(
      kept(
        large,
        And(Seq(equal(2, LongType, ZoneValues.ofLong(500000)), equal(1, LongType, ZoneValues.ofLong(777))))) == 1)
  }

  test("small segments keep every bound") {
    val small = segment(CoarseBounds.MinRows - 1)
    assert(specs.forall(s => !StoredColumn.isCoarse(small, s.fieldId)))
    assert(Segment.open(small).column(2).get.lower(0) != null)
  }

  test("a coarse column costs about two bytes a file, one that follows the rows little more with all its bounds") {
    assert(StoredColumn.bytes(largeBytes, 2) < rows * 5 / 2)
    assert(StoredColumn.bytes(largeBytes, 1) < rows * 4)
  }
}
