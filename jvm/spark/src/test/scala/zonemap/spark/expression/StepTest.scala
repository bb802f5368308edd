// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Cast, Contains, EvalMode, Like, Literal, Round}
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.predicate.{CompareOp, ValueRanges}
import zonemap.core.value.{BytesValue, LongValue, ZoneValues}

/** The arguments that single functions keep, and the values that comparisons want. */
class StepTest extends AnyFunSuite {
  private val l = AttributeReference("l", LongType)()
  private val d = AttributeReference("d", DoubleType)()
  private val s = AttributeReference("s", StringType)()

  private def text(value: String) = BytesValue(value.getBytes("UTF-8"))
  private def point(value: Long) = Wanted.nothing.copy(ranges = ValueRanges.point(LongValue(value)))
  private def from(value: String) = Wanted.nothing.copy(ranges = ValueRanges.between(text(value), null))
  private def holds(wanted: Wanted, value: String) = wanted.holds(Encoded.Value(text(value)))

  test("a function that fails within a piece keeps every argument") {
    val toInt = Cast(l, IntegerType, None, EvalMode.ANSI)
    val fits = new MonotoneStep(toInt, l, Seq(Piece(Domain(0, 1000), increasing = true)))
    assert(!fits.preimage(point(7)).isEverything && fits.preimage(point(7)).holds(Encoded.Value(LongValue(7))))
    val fails = new MonotoneStep(toInt, l, Seq(Piece(Domain(0, Long.MaxValue), increasing = true)))
    assert(fails.preimage(point(7)).isEverything)
  }

  test("null and NaN are kept if the function fails for them, and judged by its result otherwise") {
    val failing = new MonotoneStep(Cast(d, IntegerType, None, EvalMode.ANSI), d, Nil)
    assert(failing.preimage(point(7)).nan && !failing.preimage(point(7)).nulls)
    val wrapping = new MonotoneStep(Cast(d, IntegerType, None, EvalMode.LEGACY), d, Nil)
    assert(!wrapping.preimage(point(7)).nan && wrapping.preimage(point(0)).nan, "it makes 0 of NaN")
  }

  test("a constant in front of a text: texts below it, above it and behind it") {
    val step = new ConcatStep(s, text("m"), open = false)
    assert(Seq("", "a", "z").forall(holds(step.preimage(from("a")), _)), "'m' and more is above 'a'")
    assert(!Seq("", "a", "z").exists(holds(step.preimage(from("z")), _)))
    assert(holds(step.preimage(from("mk")), "k") && !holds(step.preimage(from("mk")), "j"))
  }

  test("unknown text behind a text: if null is wanted, every text may have it") {
    val step = new ConcatStep(s, text("m"), open = true)
    assert(step.preimage(from("mk").copy(nulls = true)).isEverything)
    assert(!holds(step.preimage(from("mz")), "a"))
  }

  test("rounding is a step only to digits that numbers have, because Spark takes hours for others") {
    def step(digits: Int) = MonotoneFunctions.of(Round(d, Literal(digits), ansiEnabled = false))
    assert(step(2).nonEmpty && step(-2).nonEmpty)
    assert(Seq(401, -401).forall(step(_).isEmpty))
  }

  test("NaN is at least every value") {
    val one = Encoded.Value(ZoneValues.ofDouble(1))
    val holding = Seq(CompareOp.Gt, CompareOp.GtEq, CompareOp.NotEq)
    for (op <- Seq(CompareOp.Eq, CompareOp.NotEq, CompareOp.Lt, CompareOp.LtEq, CompareOp.Gt, CompareOp.GtEq))
      assert(Wanted.compared(op, one).nan == holding.contains(op), op)
    assert(Wanted.compared(CompareOp.GtEq, Encoded.NaN) == Wanted.nothing.copy(nan = true))
    assert(Wanted.compared(CompareOp.Lt, Encoded.NaN).holds(one) && Wanted.compared(CompareOp.LtEq, Encoded.NaN).nan)
  }

  test("the parts of a text: none of a pattern that Spark refuses, nor in another collation") {
    def parts(pattern: String) =
      TextParts.whenTrue(Like(s, Literal(pattern), '\\')).map(_.alternatives.flatten.map(_.bytes))
    assert(parts("%ab%c").contains(Seq(text("ab"), text("c"))))
    assert(parts("ab\\").isEmpty && parts("a\\b%cd").isEmpty)
    val folded = AttributeReference("s", StringType("UTF8_LCASE"))()
    assert(TextParts.whenTrue(Contains(s, Literal("ab"))).nonEmpty)
    assert(TextParts.whenTrue(Contains(folded, Literal("ab"))).isEmpty)
    assert(TextParts.whenTrue(Like(folded, Literal("%ab%"), '\\')).isEmpty)
  }
}
