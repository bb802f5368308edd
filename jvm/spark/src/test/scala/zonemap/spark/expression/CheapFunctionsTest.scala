// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import java.lang.management.ManagementFactory
import java.util.regex.Pattern

import scala.util.{Failure, Random, Success, Try}

import com.sun.management.ThreadMXBean
import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.{ArrayData, StringUtils}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import zonemap.spark.SharedSession

/**
 * The functions that are evaluated while a query is planned: the processor time and the memory that Spark's evaluation
 * really takes, and the characters that patterns of LIKE really read.
 */
class CheapFunctionsTest extends SharedSession {
  import CheapFunctionsTest._

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
      if (length <= CheapFunctions.MaxText && CheapFunctions.steps(function, length) <= CheapFunctions.MaxSteps) {
        evaluations += 1
        val (millis, megabytes) = cost(function.eval(InternalRow(value)))
        assert(
          millis <= MaxMillis && megabytes <= MaxMegabytes,
          s"$millis ms, $megabytes MB: ${function.sql.take(200)}")
      }
    }
    val names = found.map(_.getClass.getSimpleName).toSet
    info(s"${found.size} calls of ${names.size} functions, $evaluations evaluations")
    assert(names.size > 80 && evaluations > 2000)
  }

  test("patterns of LIKE read no more characters than the condition has steps") {
    val random = new Random(7)
    for (_ <- 1 to 500) {
      val pattern = Seq.fill(1 + random.nextInt(8))(Seq("%", "_", "a", "b")(random.nextInt(4))).mkString
      val compiled = Pattern.compile(StringUtils.escapeLikeRegex(pattern, '\\'))
      for (text <- Seq("", "a", "a" * 24, "ab" * 12, "ba" * 9 + "c", "aab" * 8 + "!", "b" * 20 + "a")) {
        val read = new Counted(text)
        compiled.matcher(read).matches()
        val like = Like(BoundReference(0, StringType, nullable = true), Literal(pattern), '\\')
        assert(read.count <= CheapFunctions.steps(like, text.length), (pattern, text))
      }
    }
  }

  test("a case of a case may grow without end, and is not evaluated") {
    val s: Expression = BoundReference(0, StringType, nullable = true)
    val deep = (1 to 12).foldLeft(s)((inner, k) => if (k % 2 == 0) Lower(inner) else Upper(inner))
    assert(!CheapFunctions.areAllOf(EqualTo(Concat(Seq.fill(4)(deep)), Literal("x"))))
    val wide = Concat(Seq.fill(40)(Upper(s)))
    val grown = wide.eval(InternalRow(UTF8String.fromString("\u0390" * 512))).asInstanceOf[UTF8String].numBytes
    assert(grown <= 40 * 3 * CheapFunctions.MaxText && CheapFunctions.areAllOf(wide))
  }

  test("a function of a library is not evaluated") {
    val column = BoundReference(0, DoubleType, nullable = true)
    assert(CheapFunctions.areAllOf(GreaterThan(Sqrt(column), Literal(1.0))))
    assert(!CheapFunctions.areAllOf(GreaterThan(OfLibrary(column), Literal(1.0))))
  }

  test("the test's own measure finds a text with a great exponent") {
    val cast = Cast(BoundReference(0, StringType, nullable = true), DecimalType(10, 2), ansiEnabled = false)
    assert(cost(cast.eval(InternalRow(UTF8String.fromString("1e-999990"))))._1 > MaxMillis / 10)
  }

  private def isEvaluated(function: Expression): Boolean =
    Try(CheapFunctions.areAllOf(function)).getOrElse(false)

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

/** A function that is like one of Spark, from another package. */
private final case class OfLibrary(child: Expression) extends UnaryMathExpression(math.sqrt, "OF_LIBRARY") {
  override protected def withNewChildInternal(newChild: Expression): OfLibrary = copy(child = newChild)
}

private object CheapFunctionsTest {
  private val MaxMillis = 500L
  private val MaxMegabytes = 50L

  private val Types: Seq[DataType] =
    Seq(StringType, BinaryType, BooleanType, IntegerType, LongType, DoubleType, DateType, TimestampType) ++
      Seq(DecimalType(10, 2), DecimalType(38, 10), DayTimeIntervalType(), YearMonthIntervalType(), TimestampNTZType)

  private val Columns = Seq(StringType, IntegerType, LongType, DoubleType, DecimalType(10, 2), DateType, TimestampType)
    .map(BoundReference(0, _, nullable = true))

  private val LongText = "a" * 60000

  private val Literals: Seq[Literal] =
    Seq(LongText, "a" * 500, "1e-9999990", "%a%_a%b%", "").map(Literal(_)) ++
      Seq(Literal(100000000), Literal(-1), Literal(2), Literal(Int.MinValue), Literal(Long.MaxValue)) :+
      Literal(ArrayData.toArrayData(Array.tabulate(60000)(identity)), ArrayType(IntegerType, containsNull = false))

  private val Few = Seq(Literal(LongText), Literal(""), Literal(100000000), Literal(-1), Literal(Int.MinValue))

  private def hostile(function: Expression): Seq[Any] =
    function.collectFirst { case column: BoundReference => column.dataType }.get match {
      case StringType =>
        (Seq("1e-9999990", "a" * 40 + "!", "a" * 1023 + "b", "\u0390" * 512) ++ Seq("1", "-").map(_ * 1000))
          .map(UTF8String.fromString) :+ UTF8String.fromBytes(Array(0x61, 0xf0).map(_.toByte))
      case IntegerType          => Seq(0, 100000000, Int.MinValue)
      case DoubleType           => Seq(Double.MaxValue, Double.MinPositiveValue, Double.NaN)
      case decimal: DecimalType => Seq(Decimal(BigDecimal("99999999.99"), decimal.precision, decimal.scale))
      case DateType             => Seq(100000000, Int.MinValue)
      case _                    => Seq(0L, 100000000L, Long.MinValue, Long.MaxValue)
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

  /** Counts the characters that are read. */
  private final class Counted(text: String) extends CharSequence {
    var count = 0L

    override def length(): Int = text.length
    override def subSequence(from: Int, until: Int): CharSequence = text.subSequence(from, until)
    override def toString: String = text

    override def charAt(i: Int): Char = {
      count += 1
      text.charAt(i)
    }
  }
}
