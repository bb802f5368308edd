// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import org.apache.iceberg.Schema
import org.apache.iceberg.exceptions.ValidationException
import org.apache.iceberg.expressions.{Expression, Expressions}
import org.apache.iceberg.expressions.Expressions._
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.{optional, required}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.predicate._
import zonemap.core.value._

/** Converts Iceberg filters to predicates. */
class ExpressionConverterTest extends AnyFunSuite {
  private val schema = new Schema(
    required(1, "id", Types.LongType.get()),
    optional(2, "i", Types.IntegerType.get()),
    optional(3, "d", Types.DoubleType.get()),
    optional(4, "s", Types.StringType.get()),
    optional(5, "st", Types.StructType.of(optional(6, "a", Types.IntegerType.get()))),
    optional(7, "dec", Types.DecimalType.of(9, 2)),
    optional(8, "day", Types.DateType.get()),
    optional(9, "g", Types.GeometryType.crs84())
  )

  private val id = ColumnRef(1, LongType, "id")
  private val i = ColumnRef(2, IntType, "i")
  private val d = ColumnRef(3, DoubleType, "d")
  private val s = ColumnRef(4, StringType, "s")
  private val a = ColumnRef(6, IntType, "st.a")

  private def n(value: Long): ZoneValue = ZoneValues.ofLong(value)
  private def set(values: Long*) = SortedValues.of(values.map(n))
  private def text(value: String) = ZoneValues.ofString(value).asInstanceOf[BytesValue]
  private def dec(value: Long): ZoneValue = ZoneValues.ofDecimal(java.math.BigInteger.valueOf(value), DecimalType(9, 2))

  private def convert(filter: Expression, caseSensitive: Boolean = true): Predicate =
    ExpressionConverter.convert(filter, schema, caseSensitive)

  private val cases: Seq[(Expression, Predicate)] = Seq(
    alwaysTrue() -> True,
    alwaysFalse() -> False,
    lessThan("i", 5) -> Compare(i, CompareOp.Lt, n(5)),
    lessThanOrEqual("i", 5) -> Compare(i, CompareOp.LtEq, n(5)),
    greaterThan("i", 5) -> Compare(i, CompareOp.Gt, n(5)),
    greaterThanOrEqual("i", 5) -> Compare(i, CompareOp.GtEq, n(5)),
    Expressions.equal("i", 5) -> Compare(i, CompareOp.Eq, n(5)),
    Expressions.equal("id", 5) -> Compare(id, CompareOp.Eq, n(5)),
    notEqual("i", 5) -> DistinctFrom(i, n(5)),
    in("i", 3, 1, 2, 2) -> In(i, set(1, 2, 3)),
    in("i", 3) -> Compare(i, CompareOp.Eq, n(3)),
    notIn("i", 3, 1) -> NotInOrNull(i, set(1, 3)),
    isNull("i") -> IsNull(i),
    notNull("i") -> NotNull(i),
    isNull("id") -> False,
    notNull("id") -> True,
    isNaN("d") -> IsNaN(d),
    notNaN("d") -> NotNaN(d),
    lessThan("d", -0.0) -> Compare(d, CompareOp.Lt, ZoneValues.ofDouble(0.0)),
    startsWith("s", "ab") -> StartsWith(s, text("ab")),
    notStartsWith("s", "ab") -> NotStartsWithOrNull(s, text("ab")),
    Expressions.equal("st.a", 1) -> Compare(a, CompareOp.Eq, n(1)),
    Expressions.equal("dec", new java.math.BigDecimal("1.25")) -> Compare(
      ColumnRef(7, DecimalType(9, 2), "dec"),
      CompareOp.Eq,
      dec(125)),
    Expressions.equal("day", "1970-01-03") -> Compare(ColumnRef(8, DateType, "day"), CompareOp.Eq, n(2)),
    // Iceberg's binder decides literals outside the type
    lessThan("i", 5000000000L) -> NotNull(i),
    greaterThan("i", 5000000000L) -> False,
    // NOT is pushed down to the leaves; leaves that match null still match null
    not(lessThan("i", 5)) -> Compare(i, CompareOp.GtEq, n(5)),
    not(Expressions.equal("i", 5)) -> DistinctFrom(i, n(5)),
    not(or(isNull("i"), lessThan("id", 1L))) -> And(Seq(NotNull(i), Compare(id, CompareOp.GtEq, n(1)))),
    and(lessThan("i", 5), or(isNull("s"), startsWith("s", "x"))) ->
      And(Seq(Compare(i, CompareOp.Lt, n(5)), Or(Seq(IsNull(s), StartsWith(s, text("x")))))),
    and(notNull("i"), notEqual("i", 5)) -> And(Seq(NotNull(i), DistinctFrom(i, n(5))))
  )

  for ((filter, expected) <- cases)
    test(s"$filter becomes $expected") {
      val converted = convert(filter)
      assert(
        converted == expected || Predicate.canonical(converted) == Predicate.canonical(
          Predicate.simplify(expected)) || sharper(converted, expected))
    }

  /**
   * A null-matching leaf AND `x IS NOT NULL` may become SQL's own leaf, and an out-of-range comparison may become a
   * constant.
   */
  private def sharper(converted: Predicate, expected: Predicate): Boolean = (converted, expected) match {
    case (And(children), And(_)) => children.exists { case Compare(_, CompareOp.NotEq, _) => true; case _ => false }
    case (Compare(_, CompareOp.NotEq, _), And(_)) => true
    case (True, NotNull(_))                       => true
    case _                                        => false
  }

  private val day = ColumnRef(8, DateType, "day")

  private def int(value: Int): AnyRef = Int.box(value)

  // a transform's comparison, the epoch days that match
  private val ranges: Seq[(Expression, Predicate)] = Seq(
    lessThan(year[AnyRef]("day"), int(3)) -> Compare(day, CompareOp.Lt, n(1096)),
    greaterThan(year[AnyRef]("day"), int(-1)) -> Compare(day, CompareOp.GtEq, n(0)),
    lessThanOrEqual(month[AnyRef]("day"), int(-1)) -> Compare(day, CompareOp.Lt, n(0)),
    greaterThanOrEqual(month[AnyRef]("day"), int(1)) -> Compare(day, CompareOp.GtEq, n(31)),
    lessThan(Expressions.day[AnyRef]("day"), int(5)) -> Compare(day, CompareOp.Lt, n(5)),
    Expressions.equal(month[AnyRef]("day"), int(1)) -> And(
      Seq(Compare(day, CompareOp.GtEq, n(31)), Compare(day, CompareOp.Lt, n(59)))),
    notEqual(Expressions.day[AnyRef]("day"), int(5)) ->
      Or(Seq(IsNull(day), Compare(day, CompareOp.Lt, n(5)), Compare(day, CompareOp.GtEq, n(6)))),
    isNull(bucket[AnyRef]("i", 4)) -> IsNull(i)
  )

  for ((filter, expected) <- ranges)
    test(s"$filter becomes $expected")(assert(Predicate.canonical(convert(filter)) == Predicate.canonical(expected)))

  test("truncation overflows on the lowest values, which come out among the highest") {
    val wrapped = Compare(i, CompareOp.Lt, n(Int.MinValue + 10L))
    assert(
      convert(greaterThanOrEqual(truncate[AnyRef]("i", 10), int(30))) == Or(
        Seq(Compare(i, CompareOp.GtEq, n(30)), wrapped)))
    assert(
      convert(greaterThanOrEqual(truncate[AnyRef]("i", 8), int(32))) == Compare(i, CompareOp.GtEq, n(32)),
      "no overflow at a power of two")
  }

  test("transforms out of order and unordered types keep every file") {
    for (filter <- Seq[Expression](
        Expressions.equal(bucket[AnyRef]("i", 4), Int.box(1)),
        Expressions.equal(truncate[AnyRef]("s", 2), "ab"),
        lessThan(truncate[AnyRef]("i", 10), Int.box(7))))
      assert(convert(filter).isInstanceOf[Unknown], filter)
    assert(convert(isNull("g")).isInstanceOf[Unknown])
    assert(convert(and(Expressions.equal(bucket[AnyRef]("i", 4), Int.box(1)), lessThan("i", 3))) match {
      case And(children) => children.contains(Compare(i, CompareOp.Lt, n(3)))
      case other         => other == Compare(i, CompareOp.Lt, n(3))
    })
  }

  test("a list with a literal that the column cannot hold is unknown") {
    def decimals(texts: String*) = in("dec", texts.map(new java.math.BigDecimal(_)): _*)
    val dec7 = ColumnRef(7, DecimalType(9, 2), "dec")
    assert(convert(decimals("1.25", "1.50")) == In(dec7, SortedValues.of(Seq(dec(125), dec(150)))))
    assert(convert(decimals("1.25", "1000000000.00")).isInstanceOf[Unknown])
  }

  test("names bind by case as the scan says; unknown names fail") {
    assert(convert(lessThan("I", 5), caseSensitive = false) == Compare(i, CompareOp.Lt, n(5)))
    intercept[ValidationException](convert(lessThan("I", 5)))
    intercept[ValidationException](convert(lessThan("nope", 5)))
  }
}
