// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import java.lang.management.ManagementFactory

import scala.util.{Failure, Success, Try}

import com.sun.management.ThreadMXBean
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import zonemap.spark.SharedSession

/**
 * The bounds of the work of functions, beside what Spark's evaluation really takes: processor time, allocated memory,
 * and the size of the result.
 */
class FunctionWorkTest extends SharedSession {
  import FunctionWorkTest._

  private lazy val frame =
    spark.createDataFrame(spark.sparkContext.emptyRDD[Row], StructType(Seq(StructField("s", StringType))))

  private def expression(text: String): Expression = {
    val found = frame.selectExpr(text).queryExecution.optimizedPlan.collectFirst { case Project(list, _) => list.head }
    found.get.children.head.transform { case _: AttributeReference => BoundReference(0, StringType, nullable = true) }
  }

  test("results of texts are no longer than their bound") {
    var worst = 0.0
    for (text <- OfTexts) {
      val function = expression(text)
      assert(BuiltIn(function) && EvaluationWork.isAffordable(function), s"$text is not evaluated")
      for (letter <- Letters; times <- Seq(0, 1, 3, 40, 1000)) {
        val value = letter * times
        val bound = EvaluationWork.estimate(function, value.getBytes("UTF-8").length.toDouble).size
        for (result <- Try(function.eval(InternalRow(UTF8String.fromString(value))))) {
          val size = sizeOf(result, function.dataType)
          worst = math.max(worst, size / bound)
          assert(size <= bound, s"$text of $times x '$letter'")
        }
      }
    }
    info(f"at most $worst%.2f of a bound")
    assert(worst > 0.4, "bounds that no result comes near prune nothing")
  }

  test("what may be evaluated takes little time and memory, for each function of Spark and hostile arguments") {
    val found = for {
      name <- FunctionRegistry.builtin.listFunction().sortBy(_.funcName)
      column <- Columns
      function <- calls(name, column)
      if function.exists(_.isInstanceOf[BoundReference]) && isEvaluated(function)
    } yield function
    val casts = for (column <- Columns; to <- Types; cast = Cast(column, to, Some("UTC")) if isCast(cast)) yield cast
    var evaluations = 0
    for (function <- found ++ casts.filter(isEvaluated); value <- hostile(function)) {
      val length = value match {
        case text: UTF8String => text.numBytes
        case _                => 0
      }
      if (EvaluationWork.estimate(function, length.toDouble).steps <= EvaluationBudget.MaxSteps) {
        evaluations += 1
        val (millis, megabytes) = cost(function.eval(InternalRow(value)))
        assert(
          millis <= MaxMillis && megabytes <= MaxMegabytes,
          s"$millis ms, $megabytes MB: ${function.sql.take(200)}")
      }
    }
    val names = found.map(_.getClass.getSimpleName).toSet
    info(s"${found.size} calls of ${names.size} functions, $evaluations evaluations")
    assert(names.size > 150 && evaluations > 2000)
  }

  test("the test's own measure finds a text with a great exponent") {
    val cast = Cast(BoundReference(0, StringType, nullable = true), DecimalType(10, 2), ansiEnabled = false)
    assert(cost(cast.eval(InternalRow(UTF8String.fromString("1e-999990"))))._1 > MaxMillis / 10)
  }

  private def isEvaluated(function: Expression): Boolean =
    Try(BuiltIn(function) && EvaluationWork.isAffordable(function)).getOrElse(false)

  private def isCast(cast: Cast): Boolean = Try(cast.checkInputDataTypes().isSuccess).getOrElse(false)

  private def calls(name: FunctionIdentifier, column: Expression): Seq[Expression] = {
    val two = for (literal <- Literals; arguments <- Seq(Seq(column, literal), Seq(literal, column))) yield arguments
    val few = if (column.dataType == StringType || column.dataType == IntegerType) Few else Nil
    val three =
      for (a <- few; b <- few; arguments <- Seq(Seq(column, a, b), Seq(a, column, b), Seq(a, b, column)))
        yield arguments
    (Seq(Seq(column)) ++ two ++ three).flatMap(made(name, _))
  }

  private def made(name: FunctionIdentifier, arguments: Seq[Expression]): Option[Expression] =
    Try(FunctionRegistry.builtin.lookupFunction(name, arguments))
      .filter(_.checkInputDataTypes().isSuccess)
      .map(_.transformUp { case replaced: RuntimeReplaceable => replaced.replacement })
      .map(_.transformUp { case t: TimeZoneAwareExpression if t.timeZoneId.isEmpty => t.withTimeZone("UTC") })
      .filter(_.dataType != null)
      .toOption
}

private object FunctionWorkTest {
  private val MaxMillis = 2000L
  private val MaxMegabytes = 500L

  /** Functions of a text, with results as long as they get. */
  private val OfTexts = Seq(
    "upper(s)",
    "lower(s)",
    "initcap(s)",
    "hex(s)",
    "unhex(s)",
    "reverse(s)",
    "concat(s, 'x', s)",
    "concat_ws('--', s, '', s, 'x')",
    "concat_ws(s, 'a', '', s)",
    "array_join(split(s, ''), 'xyz')",
    "array_join(split(s, ','), s)",
    "array_join(array(s, NULL, s), 'x', s)",
    "split(s, '')",
    "split(s, ',')",
    "replace(s, 'a', 'xyz')",
    "replace(s, 'a', s)",
    "replace('aaaa', 'a', s)",
    "regexp_replace(s, '', 'xy')",
    "regexp_replace(s, 'a?', s)",
    "regexp_replace(s, '(.)', '$1$1$1$1')",
    "regexp_extract(s, '(a+)', 1)",
    "regexp_extract_all(s, 'a?', 0)",
    "translate(s, 'a', '\ud83d\ude00')",
    "overlay(s PLACING s FROM 1 FOR 0)",
    "substring(s, 2)",
    "trim(s)",
    "ltrim('a', s)",
    "substring_index(s, ',', 2)",
    "split_part(s, ',', 1)",
    "elt(2, 'a', s)",
    "mask(s, '\ud83d\ude00', '\u20ac', '\u20ac', '\u20ac')",
    "md5(s)",
    "sha2(s, 512)",
    "conv(s, 36, 2)",
    "soundex(s)",
    "CAST(s AS BINARY)",
    "coalesce(s, 'a')",
    "CASE WHEN s > 'a' THEN s ELSE 'b' END",
    "greatest(s, 'b')",
    "array(s, s)",
    "array_distinct(split(s, ''))",
    "array_union(split(s, ','), array(s))",
    "flatten(array(array(s), array(s, '')))",
    "sort_array(split(s, ''))",
    "named_struct('a', s, 'b', s)",
    "slice(split(s, ''), 1, 5)",
    "get_json_object(concat('{\"a\":\"', s, '\"}'), '$.a')",
    "from_unixtime(length(s), 'zzzz VV OOOO')"
  )

  private val Letters = Seq("a", "A", " ", ",", "a,", "\u0149", "\u0390", "\u00df", "\ud83d\ude00", "1", "\\", "\"")

  private val Types: Seq[DataType] =
    Seq(StringType, BinaryType, BooleanType, IntegerType, LongType, DoubleType, DateType, TimestampType) ++
      Seq(DecimalType(10, 2), DecimalType(38, 10), DayTimeIntervalType(), YearMonthIntervalType(), TimestampNTZType)

  private val Columns = Seq(StringType, IntegerType, LongType, DoubleType, DecimalType(10, 2), DateType, TimestampType)
    .map(BoundReference(0, _, nullable = true))

  private val LongText = "a" * 60000

  private val Literals: Seq[Literal] =
    Seq(LongText, "1e-9999990", "(a+)+\\1b", "\\B{9999}x", "").map(Literal(_)) ++
      Seq(Literal(100000000), Literal(-1), Literal(2), Literal(Int.MinValue), Literal(Long.MaxValue)) :+
      Literal(ArrayData.toArrayData(Array.tabulate(60000)(identity)), ArrayType(IntegerType, containsNull = false))

  private val Few = Seq(Literal(LongText), Literal(""), Literal(100000000), Literal(-1), Literal(Int.MinValue))

  private def hostile(function: Expression): Seq[Any] =
    function.collectFirst { case column: BoundReference => column.dataType }.get match {
      case StringType =>
        Seq("1e-9999990", "a" * 40 + "!", "a" * 2000 + "b", LongText, "1" * 60000, "-" * 5000)
          .map(UTF8String.fromString) :+ UTF8String.fromBytes(Array(0x61, 0xf0).map(_.toByte))
      case IntegerType          => Seq(0, 100000000, Int.MinValue)
      case DoubleType           => Seq(Double.MaxValue, Double.MinPositiveValue, Double.NaN)
      case decimal: DecimalType => Seq(Decimal(BigDecimal("99999999.99"), decimal.precision, decimal.scale))
      case DateType             => Seq(100000000, Int.MinValue)
      case _                    => Seq(0L, 100000000L, Long.MinValue, Long.MaxValue)
    }

  private def sizeOf(value: Any, dataType: DataType): Double =
    (value, dataType) match {
      case (null, _)                                 => 0
      case (text: UTF8String, _)                     => text.numBytes
      case (bytes: Array[Byte], _)                   => bytes.length
      case (array: ArrayData, ArrayType(element, _)) => array.toObjectArray(element).map(1 + sizeOf(_, element)).sum
      case (row: InternalRow, struct: StructType) =>
        struct.indices.map(i => sizeOf(row.get(i, struct(i).dataType), struct(i).dataType)).sum
      case _ => 8
    }

  private val threads = ManagementFactory.getThreadMXBean.asInstanceOf[ThreadMXBean]

  /** Milliseconds of the processor, and megabytes that are allocated, whether the evaluation fails or not. */
  private def cost(evaluate: => Any): (Long, Long) = {
    val (time, memory) = (threads.getCurrentThreadCpuTime, threads.getCurrentThreadAllocatedBytes)
    Try(evaluate) match {
      case Success(_) | Failure(_) => ()
    }
    ((threads.getCurrentThreadCpuTime - time) / 1000000, (threads.getCurrentThreadAllocatedBytes - memory) >> 20)
  }
}
