// SPDX-License-Identifier: Apache-2.0
package zonemap.core.value

import java.math.BigInteger
import java.util.UUID

import org.scalatest.funsuite.AnyFunSuite

class ValuesTest extends AnyFunSuite {

  private def ascending(name: String)(values: ZoneValue*): Unit = test(s"order of $name") {
    for (i <- values.indices; j <- values.indices)
      assert(Integer.signum(values(i).compare(values(j))) == Integer.compare(i, j), s"${values(i)} and ${values(j)}")
  }

  ascending("doubles")(
    Seq(
      Double.NegativeInfinity,
      -1e300,
      -1.5,
      -Double.MinPositiveValue,
      0.0,
      Double.MinPositiveValue,
      1.5,
      1e300,
      Double.PositiveInfinity)
      .map(ZoneValues.ofDouble): _*)
  ascending("strings as UTF-8")(
    Seq("", "a", "ab", "b", "\u007f", "\u0080", "\u07ff", "\uffee", new String(Character.toChars(0x1f600)))
      .map(ZoneValues.ofString): _*)
  ascending("wide decimals")(
    Seq("-" + "9" * 38, "-1" + "0" * 20, "-1", "0", "1", "9" * 19, "9" * 38)
      .map(v => ZoneValues.ofDecimal(new BigInteger(v), DecimalType(38, 5))): _*)
  ascending("booleans")(ZoneValues.ofBoolean(false), ZoneValues.ofBoolean(true))

  test("both zeros are one value, and doubles come back") {
    assert(ZoneValues.ofDouble(-0.0) == ZoneValues.ofDouble(0.0))
    Seq(1.5, -1.5, Double.MinValue, Double.PositiveInfinity).foreach { v =>
      assert(ZoneValues.toDouble(ZoneValues.ofDouble(v).asInstanceOf[LongValue].v) == v)
    }
    intercept[IllegalArgumentException](ZoneValues.ofDouble(Double.NaN))
  }

  test("decimals and uuids come back; too many digits are refused") {
    Seq("-" + "9" * 38, "-1", "0", "123456789012345678901").foreach { v =>
      assert(ZoneValues.toUnscaled(ZoneValues.ofDecimal(new BigInteger(v), DecimalType(38, 0))) == new BigInteger(v))
    }
    intercept[IllegalArgumentException](ZoneValues.ofDecimal(BigInteger.valueOf(1000), DecimalType(3, 0)))
    val id = UUID.randomUUID()
    assert(ZoneValues.toUuid(ZoneValues.ofUuid(id).asInstanceOf[BytesValue]) == id)
  }

  test("types by Iceberg's names") {
    Seq(
      BooleanType,
      IntType,
      LongType,
      FloatType,
      DoubleType,
      DateType,
      TimeType,
      TimestampType,
      TimestampTzType,
      TimestampNsType,
      TimestampTzNsType,
      StringType,
      BinaryType,
      UuidType,
      FixedType(16),
      DecimalType(38, 10),
      DecimalType(9, 2)
    ).foreach { t =>
      assert(ColumnType.parse(t.text).contains(t))
    }
    assert(DecimalType(9, 2).text == "decimal(9, 2)" && FixedType(16).text == "fixed[16]")
    Seq("geometry", "variant", "unknown", "decimal(39, 2)", "decimal(0, 0)", "list<int>", "").foreach(t =>
      assert(ColumnType.parse(t).isEmpty, t))
  }

  test("which types compare") {
    Seq(
      (IntType, LongType, true),
      (LongType, IntType, true),
      (FloatType, DoubleType, true),
      (IntType, DateType, false),
      (TimestampType, TimestampTzType, false),
      (DecimalType(9, 2), DecimalType(38, 2), true),
      (DecimalType(9, 2), DecimalType(9, 3), false),
      (StringType, BinaryType, false),
      (FixedType(4), FixedType(8), false),
      (DoubleType, LongType, false)
    ).foreach { case (a, b, expected) =>
      assert(ColumnType.comparable(a, b) == expected, s"$a and $b")
    }
  }

  test("prefix successors") {
    Seq(("ab", Some("ac")), ("", None)).foreach { case (p, next) =>
      assert(BytesValue(p.getBytes).prefixSuccessor == next.map(n => BytesValue(n.getBytes)))
    }
    assert(BytesValue(Array(1, -1)).prefixSuccessor.contains(BytesValue(Array(2))))
    assert(BytesValue(Array(-1, -1)).prefixSuccessor.isEmpty)
  }

  test("presence from counts") {
    Seq(
      (-1L, 10L, Presence.Unknown),
      (0L, 10L, Presence.None),
      (3L, 10L, Presence.Some),
      (10L, 10L, Presence.All),
      (11L, 10L, Presence.Unknown),
      (0L, 0L, Presence.None),
      (3L, -1L, Presence.Some),
      (0L, -1L, Presence.None)
    ).foreach { case (count, rows, expected) =>
      assert(Presence.ofCounts(count, rows) == expected)
    }
  }

  test("texts are printed on one line, without control characters and invisible marks") {
    def printed(text: String): String = ValueText.of(StringType, BytesValue(text.getBytes("UTF-8")))
    assert(printed("a\u0000b\nc\t") == "'a\\u0000b\\u000ac\\u0009'")
    assert(printed("x\u2028y\u202ez") == "'x\\u2028y\\u202ez'")
    assert(printed("it's é 😀") == "'it''s é 😀'")
  }
}
