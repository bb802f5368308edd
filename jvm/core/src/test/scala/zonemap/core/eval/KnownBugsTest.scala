// SPDX-License-Identifier: Apache-2.0
package zonemap.core.eval

import java.math.BigInteger
import java.util.UUID

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.TestModel
import zonemap.core.column.{Bitmap, ColumnBounds, ColumnSpec}
import zonemap.core.predicate._
import zonemap.core.value._

/**
 * Wrong results that other systems shipped: each test prunes a file that may be pruned and retains one that must be.
 */
class KnownBugsTest extends AnyFunSuite {
  import CompareOp._

  private def kept(
      t: ColumnType,
      bounds: ColumnBounds,
      predicate: ColumnRef => Predicate,
      asked: Option[ColumnType] = None): Boolean = {
    val segment = TestModel.segment(Seq(ColumnSpec(1, t)), Seq(Array(bounds)))
    SegmentEvaluator.mayMatch(segment, predicate(ColumnRef(1, asked.getOrElse(t), "c")), Bitmap.full(1))(0)
  }

  private def bounds(
      lo: ZoneValue,
      hi: ZoneValue,
      nulls: Presence = Presence.None,
      nans: Presence = Presence.None,
      tight: Boolean = true) =
    ColumnBounds(lo, hi, tight, nulls, nans)

  private def text(s: String) = ZoneValues.ofString(s)

  test("1: a NaN that cleared the statistics leaves no bounds, not 0.0 as bounds (hudi#18754)") {
    val cleared = bounds(null, null, nans = Presence.Unknown, tight = false)
    assert(kept(DoubleType, cleared, Compare(_, Eq, ZoneValues.ofDouble(5))))
    assert(
      !kept(DoubleType, bounds(ZoneValues.ofDouble(0), ZoneValues.ofDouble(0)), Compare(_, Eq, ZoneValues.ofDouble(5))))
  }

  test("2: absent statistics are not all null (hudi#18755)") {
    assert(kept(LongType, null, NotNull(_)) && kept(LongType, null, Compare(_, Eq, LongValue(1))))
    assert(!kept(LongType, bounds(null, null, Presence.All), NotNull(_)))
  }

  test("3: LIKE 'X%' holds between bounds that do not contain 'X' (hudi#18791)") {
    val b = bounds(text("XA"), text("XZ"), tight = false)
    assert(kept(StringType, b, StartsWith(_, BytesValue("X".getBytes))))
    assert(!kept(StringType, b, StartsWith(_, BytesValue("Y".getBytes))))
  }

  test("4: an indexed and a not indexed column in one predicate (hudi#10389, #20296)") {
    val segment = TestModel.segment(Seq(ColumnSpec(1, LongType)), Seq(Array(bounds(LongValue(1), LongValue(2)))))
    val far = Compare(ColumnRef(1, LongType, "a"), Gt, LongValue(9))
    val missing = Compare(ColumnRef(2, LongType, "b"), Eq, LongValue(0))
    assert(SegmentEvaluator.mayMatch(segment, Or(Seq(far, missing)), Bitmap.full(1))(0))
    assert(!SegmentEvaluator.mayMatch(segment, And(Seq(far, missing)), Bitmap.full(1))(0))
  }

  test("5: a literal beyond a narrower stored type does not wrap (hudi#19445)") {
    val b = bounds(LongValue(Int.MinValue.toLong), LongValue(Int.MaxValue.toLong))
    val wraps = LongValue((1L << 32) + 5)
    assert(
      !kept(IntType, b, Compare(_, Eq, wraps), Some(LongType)) && kept(
        IntType,
        b,
        Compare(_, Lt, wraps),
        Some(LongType)))
    val cents = DecimalType(4, 2)
    val huge = ZoneValues.ofDecimal(BigInteger.ONE.shiftLeft(64).add(BigInteger.valueOf(5)), DecimalType(30, 2))
    assert(!kept(cents, bounds(LongValue(5), LongValue(5)), Compare(_, Eq, huge), Some(DecimalType(30, 2))))
  }

  test("6: IS NOT NULL is not 'no nulls' (old Hudi)") {
    assert(kept(LongType, bounds(LongValue(1), LongValue(2), Presence.Some), NotNull(_)))
    assert(kept(LongType, bounds(LongValue(1), LongValue(2), Presence.Unknown), IsNull(_)))
  }

  test("8: a maximum cut to milliseconds must be given widened; then it keeps (delta-kernel-rs#1003, trino#31231)") {
    val cut = 1700000000123000L
    val literal = Compare(ColumnRef(1, TimestampType, "t"), Eq, LongValue(cut + 456))
    assert(kept(TimestampType, bounds(LongValue(0), LongValue(cut + 999), tight = false), _ => literal))
    assert(kept(TimestampType, bounds(LongValue(0), null, tight = false), _ => literal))
    assert(kept(TimestampTzType, bounds(LongValue(0), LongValue(cut)), _ => literal), "tz and ntz never mix")
  }

  test("11: inverted bounds are not an empty file (ClickHouse#116499, #119171)") {
    assert(kept(LongType, bounds(LongValue(9), LongValue(1)), Compare(_, Eq, LongValue(5))))
    assert(kept(LongType, bounds(LongValue(9), LongValue(1)), In(_, SortedValues.ofLongs(Array(100L)))))
  }

  test("12: uuids under either byte order (ClickHouse#118366)") {
    val low = new UUID(0x7000000000000000L, 1)
    val high = new UUID(0x9000000000000000L, 1)
    val mid = ZoneValues.ofUuid(new UUID(0x8000000000000000L, 0))
    // The first bounds are written in unsigned order, the second in signed order, which swaps the ends.
    assert(kept(UuidType, bounds(ZoneValues.ofUuid(low), ZoneValues.ofUuid(high), tight = false), Compare(_, Eq, mid)))
    assert(kept(UuidType, bounds(ZoneValues.ofUuid(high), ZoneValues.ofUuid(low), tight = false), Compare(_, Eq, mid)))
    val narrow = bounds(ZoneValues.ofUuid(new UUID(1, 0)), ZoneValues.ofUuid(new UUID(2, 0)), tight = false)
    assert(!kept(UuidType, narrow, Compare(_, Eq, mid)))
  }

  test("13: decimal(38, 38) compares without widening overflow (ClickHouse#116999)") {
    val t = DecimalType(38, 38)
    val max = ZoneValues.ofDecimal(new BigInteger("9" * 38), t)
    val min = ZoneValues.ofDecimal(new BigInteger("-" + "9" * 38), t)
    assert(kept(t, bounds(min, max), Compare(_, GtEq, max)) && !kept(t, bounds(min, max), Compare(_, Gt, max)))
    assert(!kept(t, bounds(max, max), Compare(_, Lt, min)))
  }

  test("19: ALL is never claimed with unknown null counts (iceberg-python#3498)") {
    val segment = TestModel.segment(
      Seq(ColumnSpec(1, LongType)),
      Seq(Presence.Unknown, Presence.None).map(n => Array(bounds(LongValue(1), LongValue(2), n))))
    val p = Compare(ColumnRef(1, LongType, "c"), Lt, LongValue(9))
    assert(SegmentEvaluator.mustMatch(segment, p, Bitmap.full(2)) == Bitmap.of(2, 1))
  }

  test("20: NOT STARTS WITH with nulls, in SQL's and in Iceberg's sense (iceberg#17656)") {
    val b = bounds(text("aa"), text("ab"), Presence.Some, tight = false)
    assert(!kept(StringType, b, NotStartsWith(_, BytesValue("a".getBytes))))
    assert(kept(StringType, b, NotStartsWithOrNull(_, BytesValue("a".getBytes))))
  }

  test("21: NaN cannot become a bound (iceberg#1761)") {
    intercept[IllegalArgumentException](ZoneValues.ofDouble(Double.NaN))
    assert(
      kept(
        DoubleType,
        bounds(ZoneValues.ofDouble(1), null, nans = Presence.Some, tight = false),
        Compare(_, Gt, ZoneValues.ofDouble(1e9))))
  }

  test("28: one clause without statistics does not disable the others of an AND (delta#6755)") {
    assert(
      !kept(LongType, bounds(LongValue(1), LongValue(2)), c => And(Seq(Unknown("udf"), Compare(c, Gt, LongValue(2))))))
  }

  test("29: IN of more than 200 values still prunes (iceberg-python#4003)") {
    val thousand = SortedValues.ofLongs(Array.tabulate(1000)(_ * 10L))
    assert(!kept(LongType, bounds(LongValue(11), LongValue(19)), In(_, thousand)))
    assert(kept(LongType, bounds(LongValue(11), LongValue(20)), In(_, thousand)))
  }
}
