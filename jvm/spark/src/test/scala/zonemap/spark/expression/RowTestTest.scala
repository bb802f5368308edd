// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.predicate.ValueRanges
import zonemap.core.value.LongValue

class RowTestTest extends AnyFunSuite {
  private val number = AttributeReference("n", IntegerType)()
  private val text = AttributeReference("s", StringType)()
  private val double = AttributeReference("x", DoubleType)()
  private val columns = Seq(number, text, double)

  private def test(condition: Expression, budget: EvaluationBudget = new EvaluationBudget): Option[RowTest] =
    RowTest.of(condition, columns, budget)

  private def row(n: Any, s: String = null, x: Any = null): InternalRow =
    new GenericInternalRow(Array[Any](n, UTF8String.fromString(s), x))

  private def mayBeTrue(condition: Expression, of: InternalRow): Boolean = test(condition).get.mayBeTrue(of)

  test("a condition that is FALSE or NULL removes a row") {
    val condition = number > Literal(5)
    assert(mayBeTrue(condition, row(6)) && !mayBeTrue(condition, row(5)) && !mayBeTrue(condition, row(null)))
    assert(mayBeTrue(Upper(text) === Literal("EU"), row(1, "eu")) && !mayBeTrue(text === Literal("EU"), row(1, "eu")))
  }

  test("a row for which the condition fails stays, and after many failures each row stays") {
    val failing = Divide(Literal(1.0), double, EvalMode.ANSI) > Literal(0.0)
    val tested = test(failing).get
    assert(tested.mayBeTrue(row(1, null, 0.0)) && !tested.mayBeTrue(row(1, null, -1.0)))
    (1 to 200).foreach(_ => assert(tested.mayBeTrue(row(1, null, 0.0))))
    assert(tested.mayBeTrue(row(1, null, -1.0)))
  }

  test("values among ranges, NaN stays") {
    val ranges = ValueRanges.of(ValueRanges.point(LongValue(3)).iterator ++ ValueRanges.point(LongValue(9)).iterator)
    assert(Seq(2, 3, 4, 9).map(n => mayBeTrue(Among(number, ranges), row(n))) == Seq(false, true, false, true))
    assert(!mayBeTrue(Among(number, ranges), row(null)))
    assert(mayBeTrue(Among(double, ValueRanges.empty), row(1, null, Double.NaN)))
    assert(!mayBeTrue(Among(double, ValueRanges.empty), row(1, null, 1.0)))
  }

  test("what is not of Spark's cheap functions of the columns is not evaluated") {
    val other = AttributeReference("other", IntegerType)()
    val conditions = Seq(
      number > other,
      Literal(true),
      Rand(Literal(1L)) > Literal(0.5),
      RLike(text, Literal("(a+)+b")),
      ScalaUDF((n: Int) => n > 0, BooleanType, Seq(number)),
      Among(ScalaUDF((n: Int) => n, IntegerType, Seq(number)), ValueRanges.empty)
    )
    conditions.foreach(condition => assert(test(condition).isEmpty, condition))
  }

  test("a long text, and a budget that is spent, remove no row") {
    val condition = text === Literal("a")
    assert(!mayBeTrue(condition, row(1, "b")) && mayBeTrue(condition, row(1, "b" * 2000)))
    val budget = new EvaluationBudget
    while (budget.spend(CheapFunctions.MaxSteps)) {}
    while (budget.spend(1.0e4)) {}
    while (budget.spend(1.0)) {}
    assert(test(condition, budget).get.mayBeTrue(row(1, "b")))
  }
}
