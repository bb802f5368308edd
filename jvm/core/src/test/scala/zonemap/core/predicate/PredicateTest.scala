// SPDX-License-Identifier: Apache-2.0
package zonemap.core.predicate

import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.value.{BytesValue, DateType, DoubleType, IntType, LongType, LongValue, StringType}

class PredicateTest extends AnyFunSuite {
  import CompareOp._

  private val x = ColumnRef(1, LongType, "x")
  private val s = ColumnRef(2, StringType, "s")
  private val d = ColumnRef(3, DoubleType, "d")

  private val xIs5 = Compare(x, Eq, LongValue(5))
  private val xGt7 = Compare(x, Gt, LongValue(7))
  private val ab = BytesValue("ab".getBytes)

  private def in(from: Long, until: Long) = InRanges(x, ValueRanges.between(LongValue(from), LongValue(until)))

  test("simplify") {
    val five = SortedValues.ofLongs(Array(5L))
    Seq[(Predicate, Predicate)](
      And(Seq(True, And(Seq(xIs5, True)))) -> xIs5,
      And(Seq(xIs5, False)) -> False,
      Or(Seq(False, Or(Seq(xIs5, xGt7)))) -> Or(Seq(xIs5, xGt7)),
      Or(Seq(xIs5, True)) -> True,
      And(Nil) -> True,
      Or(Nil) -> False,
      Or(Seq(And(Seq(True)), False)) -> True,
      And(Seq(xIs5, xIs5)) -> xIs5,
      And(Seq(NotNull(x), DistinctFrom(x, LongValue(5)))) -> Compare(x, NotEq, LongValue(5)),
      And(Seq(NotInOrNull(x, five), NotNull(x))) -> NotIn(x, five),
      And(Seq(NotNull(s), NotStartsWithOrNull(s, ab))) -> NotStartsWith(s, ab),
      And(Seq(NotNull(x), xGt7)) -> xGt7,
      And(Seq(NotNull(s), xGt7)) -> And(Seq(NotNull(s), xGt7)),
      And(Seq(NotNull(d), NotNaN(d))) -> And(Seq(NotNull(d), NotNaN(d))),
      And(Seq(NotNull(s), DistinctFrom(x, LongValue(5)))) -> And(Seq(NotNull(s), DistinctFrom(x, LongValue(5)))),
      And(Seq(in(1, 5), xGt7, in(3, 9))) -> And(Seq(in(3, 5), xGt7)),
      And(Seq(in(1, 3), in(3, 9))) -> False,
      Or(Seq(in(1, 3), xIs5, in(3, 9))) -> Or(Seq(in(1, 9), xIs5)),
      Or(Seq(in(1, 3), in(2, 9))) -> in(1, 9),
      Unknown("f") -> Unknown("f")
    ).foreach { case (before, after) => assert(Predicate.simplify(before) == after) }
  }

  test("comparisons with NaN need no NaN") {
    Seq(
      Eq -> IsNaN(d),
      GtEq -> IsNaN(d),
      Gt -> False,
      LtEq -> NotNull(d),
      Lt -> And(Seq(NotNull(d), NotNaN(d))),
      NotEq -> And(Seq(NotNull(d), NotNaN(d)))).foreach { case (op, expected) =>
      assert(Predicate.compareToNaN(d, op) == expected)
    }
  }

  test("canonical text: no names, no order of children, types told apart") {
    assert(
      Predicate.canonical(And(Seq(xIs5, xGt7))) == Predicate.canonical(
        And(Seq(xGt7, xIs5.copy(column = x.copy(name = "y"))))))
    assert(Predicate.canonical(xIs5) == "(eq 1 \"long\" 5)")
    val texts = Seq(
      xIs5,
      xGt7,
      xIs5.copy(column = x.copy(columnType = IntType)),
      xIs5.copy(column = x.copy(fieldId = 9)),
      IsNull(x),
      NotNull(x),
      IsNaN(d),
      NotNaN(d),
      StartsWith(s, ab),
      NotStartsWith(s, ab),
      NotStartsWithOrNull(s, ab),
      In(x, SortedValues.ofLongs(Array(5L))),
      NotIn(x, SortedValues.ofLongs(Array(5L))),
      NotInOrNull(x, SortedValues.ofLongs(Array(5L))),
      DistinctFrom(x, LongValue(5)),
      True,
      False,
      Unknown("u"),
      And(Seq(xIs5, xGt7)),
      Or(Seq(xIs5, xGt7))
    ).map(Predicate.canonical)
    assert(texts.distinct.size == texts.size)
  }

  test("readable text") {
    val date = ColumnRef(4, DateType, "day")
    assert(
      Predicate.describe(And(Seq(Or(Seq(xIs5, xGt7)), StartsWith(s, ab)))) == "(x = 5 OR x > 7) AND s STARTS WITH 'ab'")
    assert(Predicate.describe(Compare(date, Lt, LongValue(0))) == "day < 1970-01-01")
    assert(
      Predicate.describe(
        In(x, SortedValues.ofLongs(Array.tabulate(9)(_.toLong)))) == "x IN (0, 1, 2, 3, 4, ... 9 values)")
  }

  test("sorted values: distinct, in order, range tests") {
    val set = SortedValues.ofLongs(Array(5L, 1L, 5L, 9L))
    assert(set.size == 3 && set.iterator.toSeq == Seq(1L, 5L, 9L).map(LongValue(_)))
    assert(set == SortedValues.of(Seq(LongValue(9), LongValue(1), LongValue(5))))
    assert(set.contains(LongValue(5)) && !set.contains(LongValue(6)))
    Seq((2L, 4L, false), (2L, 5L, true), (10L, 20L, false), (9L, 9L, true)).foreach { case (lo, hi, expected) =>
      assert(set.intersects(LongValue(lo), LongValue(hi)) == expected)
    }
    assert(
      set.intersects(null, LongValue(1)) && !set.intersects(null, LongValue(0)) && !set.intersects(LongValue(10), null))
  }

  test("field ids") {
    assert(Predicate.fieldIds(Or(Seq(And(Seq(xIs5, IsNull(s))), Unknown("u"), True))) == Set(1, 2))
  }
}
