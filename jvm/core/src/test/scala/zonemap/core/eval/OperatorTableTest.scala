// SPDX-License-Identifier: Apache-2.0
package zonemap.core.eval

import java.math.BigInteger
import java.util.UUID

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.TestModel
import zonemap.core.column.{Bitmap, ColumnBounds, ColumnSpec}
import zonemap.core.predicate._
import zonemap.core.rule.{ColumnZone, Match, ZoneMatch, ZoneStats}
import zonemap.core.value._

/**
 * The operator table: one file whose columns are named for their case. Each predicate has one expected result, which
 * the scalar and the vectorised evaluator must both return.
 */
class OperatorTableTest extends AnyFunSuite {
  import Match.{All, None => Nothing, Some => Maybe}

  private val wide = DecimalType(38, 2)

  private def long(v: Long): ZoneValue = LongValue(v)
  private def text(v: String): ZoneValue = ZoneValues.ofString(v)
  private def double(v: Double): ZoneValue = ZoneValues.ofDouble(v)
  private def decimal(v: String): ZoneValue = ZoneValues.ofDecimal(new BigInteger(v), wide)
  private def uuid(v: UUID): ZoneValue = ZoneValues.ofUuid(v)

  private def known(
      lo: ZoneValue,
      hi: ZoneValue,
      nulls: Presence = Presence.None,
      nans: Presence = Presence.None,
      tight: Boolean = true) =
    ColumnBounds(lo, hi, tight, nulls, nans)

  private val smile = new String(Character.toChars(0x1f600))

  private val columns: Seq[(String, ColumnType, ColumnBounds)] = Seq(
    ("id", LongType, known(long(30), long(79))),
    ("five", IntType, known(long(5), long(5))),
    ("five_some_nulls", IntType, known(long(5), long(5), Presence.Some)),
    ("five_loose", IntType, known(long(5), long(5), tight = false)),
    ("some_nulls", LongType, known(long(30), long(79), Presence.Some)),
    ("all_nulls", LongType, known(null, null, Presence.All, tight = false)),
    ("no_stats", LongType, ColumnBounds.NothingKnown),
    ("only_lower", LongType, known(long(30), null, Presence.Unknown, tight = false)),
    ("only_upper", LongType, known(null, long(79), Presence.Unknown, tight = false)),
    ("inverted", LongType, known(long(79), long(30))),
    ("plain", DoubleType, known(double(1), double(9))),
    ("maybe_nan", DoubleType, known(double(1), double(9), nans = Presence.Unknown)),
    ("some_nan", DoubleType, known(double(1), double(9), nans = Presence.Some)),
    ("all_nan", DoubleType, known(null, null, nans = Presence.All, tight = false)),
    ("one_nan", FloatType, known(double(5), double(5), nans = Presence.Some)),
    ("zero", DoubleType, known(double(-0.0), double(0.0))),
    ("name", StringType, known(text("abc"), text("abe"), tight = false)),
    ("name_nulls", StringType, known(text("abc"), text("abe"), Presence.Some, tight = false)),
    ("no_upper", StringType, known(text("abc"), null, tight = false)),
    ("surrogates", StringType, known(text("\uffee"), text(smile), tight = false)),
    ("amount", wide, known(decimal("-" + "9" * 38), decimal("9" * 38))),
    ("price", DecimalType(18, 2), known(long(-5), long(999999999999999999L))),
    ("key", UuidType, known(uuid(new UUID(1, 0)), uuid(new UUID(5, 0)), tight = false)),
    ("key_signs", UuidType, known(uuid(new UUID(-5, 0)), uuid(new UUID(5, 0)), tight = false)),
    ("low_nan", DoubleType, known(double(-5), double(-1), nans = Presence.Some)),
    ("day", DateType, known(long(1), long(2))),
    ("key_halves", UuidType, known(uuid(new UUID(1, 5)), uuid(new UUID(2, 0)), tight = false)),
    ("key_low", UuidType, known(uuid(new UUID(0, 1)), uuid(new UUID(0, 2)), tight = false))
  )

  private val segment = TestModel.segment(
    columns.zipWithIndex.map { case ((_, t, _), i) => ColumnSpec(i + 1, t) },
    Seq(columns.map(_._3).toArray))

  private def ref(name: String): ColumnRef = {
    val index = columns.indexWhere(_._1 == name)
    require(index >= 0, name)
    ColumnRef(index + 1, columns(index)._2, name)
  }

  private def on(name: String, op: CompareOp, value: ZoneValue): Predicate = Compare(ref(name), op, value)
  private def in(name: String, values: ZoneValue*): Predicate = In(ref(name), SortedValues.of(values))
  private def notIn(name: String, values: ZoneValue*): Predicate = NotIn(ref(name), SortedValues.of(values))
  private def bytes(prefix: String) = BytesValue(prefix.getBytes("UTF-8"))

  private def table(name: String)(rows: (Predicate, Match)*): Unit = test(name) {
    rows.foreach { case (predicate, expected) =>
      assert(SegmentEvaluator.rowMatch(segment, predicate, 0) == expected, predicate)
      val stats: ZoneStats = id => columns.lift(id - 1).map(c => ColumnZone(c._2, c._3))
      assert(ZoneMatch.evaluate(predicate, stats) == expected, predicate)
      assert(SegmentEvaluator.mayMatch(segment, predicate, Bitmap.full(1))(0) == (expected != Nothing), predicate)
      assert(SegmentEvaluator.mustMatch(segment, predicate, Bitmap.full(1))(0) == (expected == All), predicate)
    }
  }

  import CompareOp._

  private def pair(left: String, op: CompareOp, right: String): Predicate = CompareColumns(ref(left), op, ref(right))

  table("two columns, [30, 79] beside others")(
    pair("id", Lt, "five") -> Nothing,
    pair("id", LtEq, "five") -> Nothing,
    pair("id", Eq, "five") -> Nothing,
    pair("five", Eq, "id") -> Nothing,
    pair("five", Lt, "id") -> Maybe,
    pair("five", Lt, "five_loose") -> Nothing,
    pair("five", LtEq, "five_loose") -> Maybe,
    pair("five", Eq, "five_some_nulls") -> Maybe,
    pair("id", Lt, "all_nulls") -> Nothing,
    pair("all_nulls", Eq, "id") -> Nothing,
    pair("id", Lt, "no_stats") -> Maybe,
    pair("id", Lt, "only_lower") -> Maybe,
    pair("only_lower", Lt, "five") -> Nothing,
    pair("only_upper", Lt, "five") -> Maybe,
    pair("id", Lt, "inverted") -> Maybe,
    pair("inverted", Lt, "five") -> Maybe,
    pair("name", Lt, "id") -> Maybe,
    pair("key", Lt, "key_signs") -> Maybe,
    pair("id", Lt, "day") -> Maybe,
    pair("key", Lt, "key_low") -> Maybe,
    pair("key", Eq, "key_low") -> Maybe,
    pair("amount", Lt, "price") -> Maybe,
    pair("no_upper", Lt, "surrogates") -> Maybe,
    pair("surrogates", Lt, "name") -> Nothing
  )

  table("two columns and NaN, which is above everything and equal to itself")(
    pair("plain", Lt, "zero") -> Nothing,
    pair("plain", LtEq, "zero") -> Nothing,
    pair("maybe_nan", Lt, "zero") -> Nothing,
    pair("one_nan", Lt, "zero") -> Nothing,
    pair("all_nan", Lt, "zero") -> Nothing,
    pair("zero", Lt, "all_nan") -> Maybe,
    pair("one_nan", Eq, "zero") -> Nothing,
    pair("zero", Lt, "zero") -> Nothing,
    pair("zero", Eq, "zero") -> Maybe,
    pair("plain", Eq, "zero") -> Nothing,
    pair("maybe_nan", Eq, "one_nan") -> Maybe,
    pair("zero", Lt, "one_nan") -> Maybe,
    pair("plain", Lt, "low_nan") -> Maybe,
    pair("plain", LtEq, "low_nan") -> Maybe,
    pair("low_nan", Lt, "plain") -> Maybe,
    pair("plain", Eq, "low_nan") -> Nothing,
    pair("maybe_nan", Eq, "low_nan") -> Maybe,
    pair("id", Eq, "id") -> Maybe
  )

  private val far = ref("plain").copy(fieldId = 99)

  table("two columns of which one is not indexed")(
    CompareColumns(ref("id"), Lt, far) -> Maybe,
    CompareColumns(far, Eq, ref("id")) -> Maybe)

  table("comparisons at the edges of [30, 79]")(
    on("id", Lt, long(30)) -> Nothing,
    on("id", Lt, long(31)) -> Maybe,
    on("id", Lt, long(79)) -> Maybe,
    on("id", Lt, long(80)) -> All,
    on("id", LtEq, long(29)) -> Nothing,
    on("id", LtEq, long(30)) -> Maybe,
    on("id", LtEq, long(79)) -> All,
    on("id", Gt, long(79)) -> Nothing,
    on("id", Gt, long(78)) -> Maybe,
    on("id", Gt, long(30)) -> Maybe,
    on("id", Gt, long(29)) -> All,
    on("id", GtEq, long(80)) -> Nothing,
    on("id", GtEq, long(79)) -> Maybe,
    on("id", GtEq, long(30)) -> All,
    on("id", Eq, long(29)) -> Nothing,
    on("id", Eq, long(30)) -> Maybe,
    on("id", Eq, long(79)) -> Maybe,
    on("id", Eq, long(80)) -> Nothing,
    on("id", NotEq, long(29)) -> All,
    on("id", NotEq, long(30)) -> Maybe,
    on("some_nulls", Gt, long(29)) -> Maybe,
    on("some_nulls", Gt, long(79)) -> Nothing,
    on("some_nulls", NotEq, long(5)) -> Maybe
  )

  table("single-value files")(
    on("five", Eq, long(5)) -> All,
    on("five", NotEq, long(5)) -> Nothing,
    notIn("five", long(5), long(6)) -> Nothing,
    in("five", long(4), long(5)) -> All,
    DistinctFrom(ref("five"), long(5)) -> Nothing,
    DistinctFrom(ref("five"), long(6)) -> All,
    on("five_some_nulls", NotEq, long(5)) -> Nothing,
    DistinctFrom(ref("five_some_nulls"), long(5)) -> Maybe,
    NotInOrNull(ref("five_some_nulls"), SortedValues.of(Seq(long(5)))) -> Maybe,
    NotInOrNull(ref("five"), SortedValues.of(Seq(long(5)))) -> Nothing,
    on("five_some_nulls", Eq, long(5)) -> Maybe,
    on("five_loose", Eq, long(5)) -> Maybe,
    on("five_loose", NotEq, long(5)) -> Maybe,
    on("five_loose", Eq, long(6)) -> Nothing
  )

  table("nulls and missing statistics")(
    IsNull(ref("id")) -> Nothing,
    NotNull(ref("id")) -> All,
    IsNull(ref("some_nulls")) -> Maybe,
    NotNull(ref("some_nulls")) -> Maybe,
    IsNull(ref("all_nulls")) -> All,
    NotNull(ref("all_nulls")) -> Nothing,
    on("all_nulls", Eq, long(1)) -> Nothing,
    on("all_nulls", NotEq, long(1)) -> Nothing,
    DistinctFrom(ref("all_nulls"), long(1)) -> All,
    notIn("all_nulls", long(1)) -> Nothing,
    IsNull(ref("no_stats")) -> Maybe,
    NotNull(ref("no_stats")) -> Maybe,
    on("no_stats", Eq, long(1)) -> Maybe,
    on("only_lower", Lt, long(30)) -> Nothing,
    on("only_lower", Gt, long(1000)) -> Maybe,
    on("only_lower", Eq, long(29)) -> Nothing,
    on("only_upper", Gt, long(79)) -> Nothing,
    on("only_upper", Lt, long(-1000)) -> Maybe,
    in("only_upper", long(80), long(90)) -> Nothing
  )

  table("inverted bounds are unknown, never empty")(
    on("inverted", Eq, long(50)) -> Maybe,
    on("inverted", Gt, long(100)) -> Maybe,
    on("inverted", NotEq, long(50)) -> Maybe,
    in("inverted", long(1)) -> Maybe,
    IsNull(ref("inverted")) -> Nothing,
    NotNull(ref("inverted")) -> All
  )

  table("NaN is greater than everything and equal to itself")(
    on("plain", Gt, double(9)) -> Nothing,
    on("maybe_nan", Gt, double(9)) -> Maybe,
    on("some_nan", GtEq, double(10)) -> Maybe,
    on("some_nan", Lt, double(1)) -> Nothing,
    on("some_nan", LtEq, double(9)) -> Maybe,
    on("plain", LtEq, double(9)) -> All,
    on("some_nan", Gt, double(0)) -> All,
    on("one_nan", NotEq, double(5)) -> Maybe,
    notIn("one_nan", double(5)) -> Maybe,
    DistinctFrom(ref("one_nan"), double(5)) -> Maybe,
    on("one_nan", Eq, double(6)) -> Nothing,
    on("one_nan", Eq, double(5)) -> Maybe,
    IsNaN(ref("plain")) -> Nothing,
    IsNaN(ref("maybe_nan")) -> Maybe,
    IsNaN(ref("all_nan")) -> All,
    NotNaN(ref("plain")) -> All,
    NotNaN(ref("all_nan")) -> Nothing,
    NotNaN(ref("all_nulls")) -> All,
    on("all_nan", Lt, double(1)) -> Nothing,
    on("all_nan", Gt, double(1)) -> All,
    IsNaN(ref("id")) -> Nothing
  )

  table("zero has one sign")(
    on("zero", Eq, double(0.0)) -> All,
    on("zero", Lt, double(0.0)) -> Nothing,
    on("zero", Gt, double(-0.0)) -> Nothing,
    on("zero", NotEq, double(-0.0)) -> Nothing)

  table("prefixes and truncated strings: [abc, abe] holds 'abcde' and 'abdzz' but not 'abez'")(
    StartsWith(ref("name"), bytes("abd")) -> Maybe,
    StartsWith(ref("name"), bytes("abcd")) -> Maybe,
    StartsWith(ref("name"), bytes("ab")) -> Maybe,
    StartsWith(ref("name"), bytes("abb")) -> Nothing,
    StartsWith(ref("name"), bytes("abf")) -> Nothing,
    StartsWith(ref("name"), bytes("")) -> Maybe,
    Contains(ref("name"), Seq(bytes("zz"))) -> Maybe,
    NotStartsWith(ref("name"), bytes("ab")) -> Nothing,
    NotStartsWith(ref("name"), bytes("abc")) -> Maybe,
    NotStartsWith(ref("name"), bytes("x")) -> Maybe,
    NotStartsWith(ref("no_upper"), bytes("ab")) -> Maybe,
    StartsWith(ref("no_upper"), bytes("zz")) -> Maybe,
    StartsWith(ref("no_upper"), bytes("aa")) -> Nothing,
    NotStartsWith(ref("name_nulls"), bytes("ab")) -> Nothing,
    NotStartsWithOrNull(ref("name_nulls"), bytes("ab")) -> Maybe,
    NotStartsWithOrNull(ref("name"), bytes("ab")) -> Nothing,
    on("name", Eq, text("abez")) -> Nothing,
    on("name", Eq, text("abcde")) -> Maybe
  )

  table("strings compare as UTF-8, where four-byte characters follow U+FFEE")(
    on("surrogates", Eq, text("\uffff")) -> Maybe,
    on("surrogates", Lt, text("\uffee")) -> Nothing,
    on("surrogates", Gt, text(smile)) -> Nothing,
    on("surrogates", Gt, text("\uffff")) -> Maybe,
    on("surrogates", Eq, text("z")) -> Nothing
  )

  table("decimals of 38 digits, and of 18 against wider literals")(
    on("amount", Gt, decimal("9" * 38)) -> Nothing,
    on("amount", GtEq, decimal("9" * 38)) -> Maybe,
    on("amount", Lt, decimal("-" + "9" * 38)) -> Nothing,
    on("amount", Eq, decimal("0")) -> Maybe,
    Compare(ref("price").copy(columnType = wide), Gt, decimal("9" * 38)) -> Nothing,
    Compare(ref("price").copy(columnType = wide), Lt, decimal("9" * 38)) -> All,
    Compare(ref("price").copy(columnType = wide), Eq, decimal("1" + "0" * 18)) -> Nothing,
    Compare(ref("price").copy(columnType = wide), Eq, decimal("7")) -> Maybe,
    Compare(ref("price").copy(columnType = DecimalType(38, 3)), Gt, decimal("9" * 38)) -> Maybe
  )

  table("uuids: outside both ways or kept, and no order")(
    on("key", Eq, uuid(new UUID(6, 0))) -> Nothing,
    on("key", Eq, uuid(new UUID(3, 7))) -> Maybe,
    on("key", Eq, uuid(new UUID(-1, 0))) -> Nothing,
    in("key", uuid(new UUID(0, 9)), uuid(new UUID(7, 0))) -> Nothing,
    on("key", Gt, uuid(new UUID(6, 0))) -> Maybe,
    on("key", NotEq, uuid(new UUID(6, 0))) -> Maybe,
    // In signed order the bounds are [-5, 5]; in byte order they are inverted, so that no value can be excluded.
    on("key_signs", Eq, uuid(new UUID(100, 0))) -> Maybe,
    on("key_signs", Eq, uuid(new UUID(0, 0))) -> Maybe,
    IsNull(ref("key_signs")) -> Nothing,
    // As unsigned bytes the uuid lies above the bounds, as two signed longs within them.
    on("key_halves", Eq, uuid(new UUID(2, -1))) -> Maybe,
    on("key_halves", Eq, uuid(new UUID(2, 1))) -> Nothing
  )

  table("unknown columns and types keep the file, beside clauses that prune")(
    Compare(ColumnRef(99, LongType, "new"), Eq, long(1)) -> Maybe,
    IsNull(ColumnRef(99, LongType, "new")) -> Maybe,
    Compare(ref("id").copy(columnType = StringType), Eq, text("x")) -> Maybe,
    Compare(ref("id").copy(columnType = TimestampType), Eq, long(1)) -> Maybe,
    Compare(ref("five").copy(columnType = LongType), Eq, long(1L << 40)) -> Nothing,
    And(Seq(Compare(ColumnRef(99, LongType, "new"), Eq, long(1)), on("id", Gt, long(79)))) -> Nothing,
    Or(Seq(Compare(ColumnRef(99, LongType, "new"), Eq, long(1)), on("id", Gt, long(79)))) -> Maybe,
    And(Seq(Unknown("a function"), on("id", Gt, long(0)))) -> Maybe,
    Or(Seq(Unknown("a function"), on("id", Gt, long(0)))) -> All
  )

  table("AND, OR and the constants")(
    And(Seq(on("id", Gt, long(0)), NotNull(ref("id")))) -> All,
    And(Seq(on("id", Gt, long(0)), on("id", Gt, long(50)))) -> Maybe,
    Or(Seq(on("id", Gt, long(100)), on("id", Lt, long(0)))) -> Nothing,
    True -> All,
    False -> Nothing,
    And(Nil) -> All,
    Or(Nil) -> Nothing,
    in("id") -> Nothing,
    in("id", long(1), long(100)) -> Nothing,
    in("id", long(1), long(50)) -> Maybe,
    notIn("id", long(1), long(100)) -> All
  )
}
