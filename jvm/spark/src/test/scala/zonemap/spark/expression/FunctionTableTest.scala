// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import java.time.{LocalDate, LocalDateTime, ZoneOffset}

import scala.util.{Random, Success, Try}

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.predicate.CompareOp
import zonemap.core.value.LongValue

/**
 * Compares every Spark function in the order tables with Spark's own evaluation, on arguments of every kind.
 *
 * The test checks the claims of a table about each piece of the domain (every argument has a result, and the results
 * are in order) and the preimages derived from the pieces. A preimage must contain every argument whose result is
 * wanted for its value, because it is NULL, or because the function fails.
 *
 * The functions are discovered, not listed: the test tries each function of Spark's registry on each type, with
 * literals of each type as the other arguments. The list in this file names the functions that the discovery must find.
 */
class FunctionTableTest extends AnyFunSuite {
  import FunctionTableTest._

  for (ansi <- Seq(true, false); policy <- if (ansi) Seq("EXCEPTION") else Seq("EXCEPTION", "LEGACY"))
    test(s"what the tables claim is so, with ANSI mode ${if (ansi) "on" else "off"} and times parsed by $policy") {
      withConf("spark.sql.ansi.enabled" -> ansi.toString, "spark.sql.legacy.timeParserPolicy" -> policy) {
        val found = expressions.flatMap(e => step(e).map(e -> _))
        val wrong = found.iterator.flatMap { case (e, s) => faults(e, s).take(1) }.take(60).toSeq
        assert(wrong.isEmpty, wrong.mkString("\n", "\n", ""))
        val names = found.map(_._1.getClass.getSimpleName).toSet
        assert(names == (if (policy == "LEGACY") Functions - "DateFormatClass" - "FromUnixTime" else Functions))
        info(s"${found.size} expressions")
      }
    }

  /**
   * The faults of one function. The text of the function seeds the random choices, so that a failure can be repeated.
   */
  private def faults(e: Expression, step: Step): Iterator[String] = {
    val rng = new Random(e.sql.hashCode.toLong)
    val bound = e.withNewChildren(e.children.map { c =>
      if (c eq step.child) BoundReference(0, c.dataType, nullable = true) else c
    })
    val row = new GenericInternalRow(1)
    val ends = step match {
      case monotone: MonotoneStep =>
        monotone.pieces
          .filterNot(_.domain.isEmpty)
          .flatMap(p => around(p.domain.first) ++ around(p.domain.last))
          .filter(inDomain(step.child.dataType, _))
          .map(CatalystValues.decode(step.child.dataType, _))
      case _ => Nil
    }
    val arguments = (null +: (samples(step.child.dataType) ++ rng.shuffle(ends).take(40)).distinct).map { x =>
      row.update(0, x)
      Argument(
        x,
        CatalystValues.encode(step.child.dataType, x),
        Try(CatalystValues.encode(e.dataType, bound.eval(row))))
    }
    val ofPieces = step match {
      case monotone: MonotoneStep => monotone.pieces.iterator.flatMap(claims(e, monotone, _, arguments))
      case _                      => Iterator.empty
    }
    ofPieces ++ wanted(arguments, rng).iterator.flatMap { case (what, set) =>
      val preimage = step.preimage(set)
      arguments.iterator.collect {
        case a if !preimage.holds(a.encoded) && a.result.fold(_ => true, set.holds) =>
          s"${e.sql} [${zone(e)}]: wanted $what, and ${a.value} (${a.result}) is left out"
      }
    }
  }

  /** The faults of one piece: arguments inside the piece that have no result, and results that are out of order. */
  private def claims(e: Expression, step: MonotoneStep, piece: Piece, all: Seq[Argument]): Iterator[String] = {
    val inside = all.collect {
      case a @ Argument(_, Encoded.Value(LongValue(x)), _) if piece.domain.first <= x && x <= piece.domain.last =>
        x -> a
    }
    val without = inside.iterator.collect {
      case (_, a) if !a.result.toOption.exists(_.isInstanceOf[Encoded.Value]) =>
        s"${e.sql} [${zone(e)}]: ${a.value} has no result inside a piece: ${a.result}"
    }
    val results = inside.sortBy(_._1).collect {
      case (x, Argument(_, _, Success(Encoded.Value(y)))) if step.slackAt(x) == 0 => x -> y
    }
    val disordered = results.iterator.zip(results.iterator.drop(1)).collect {
      case ((x, fx), (y, fy)) if (if (piece.increasing) fx.compare(fy) > 0 else fx.compare(fy) < 0) =>
        s"${e.sql} [${zone(e)}]: $x gives $fx, $y gives $fy"
    }
    without ++ disordered
  }

  /** Sets of wanted results: NULL, NaN, and single points and half-lines at results that occur. */
  private def wanted(arguments: Seq[Argument], rng: Random): Seq[(String, Wanted)] = {
    val values = arguments.flatMap(_.result.toOption).collect { case v: Encoded.Value => v }.distinct
    val compared = for {
      value <- rng.shuffle(values).take(6)
      op <- Seq(CompareOp.Eq, CompareOp.Lt, CompareOp.GtEq, CompareOp.NotEq)
    } yield s"$op ${value.value}" -> Wanted.compared(op, value)
    Seq(
      "NULL" -> Wanted.onlyNull,
      "a value" -> Wanted.notNull,
      "NaN" -> Wanted.nothing.copy(nan = true),
      "nothing" -> Wanted.nothing) ++ compared
  }

  /**
   * All valid combinations of function, types and literals. Functions that depend on the time zone occur once per zone.
   */
  private def expressions: Seq[Expression] =
    (ofRegistry ++ casts ++ intervals)
      .filter(e => step(e).isDefined)
      .flatMap { e =>
        if (e.exists(_.isInstanceOf[TimeZoneAwareExpression]))
          Zones.map(z => e.transformUp { case t: TimeZoneAwareExpression => t.withTimeZone(z) })
        else Seq(e)
      }

  private def ofRegistry: Seq[Expression] =
    for {
      name <- FunctionRegistry.builtin.listFunction().sortBy(_.funcName)
      x <- Columns
      e <- made(name, Seq(x)) ++ ofTwo(name, x) ++ ofThree(name, x)
    } yield e

  private def ofTwo(name: FunctionIdentifier, x: Expression): Seq[Expression] =
    for {
      literals <- Literals
      order <- Seq((l: Expression) => Seq(x, l), (l: Expression) => Seq(l, x))
      if made(name, order(literals.head)).nonEmpty
      literal <- literals
      e <- made(name, order(literal))
    } yield e

  private def ofThree(name: FunctionIdentifier, x: Expression): Seq[Expression] =
    for {
      literals <- Literals.filter(l => l.head.dataType == IntegerType || l.head.dataType == StringType)
      if made(name, Seq(x, literals.head, literals.head)).nonEmpty
      first <- literals.take(6)
      second <- literals.take(6)
      e <- made(name, Seq(x, first, second))
    } yield e

  private def made(name: FunctionIdentifier, arguments: Seq[Expression]): Seq[Expression] =
    Try(FunctionRegistry.builtin.lookupFunction(name, arguments))
      .filter(_.checkInputDataTypes().isSuccess)
      .map(_.transformUp { case replaced: RuntimeReplaceable => replaced.replacement })
      .map(_.transformUp { case t: TimeZoneAwareExpression if t.timeZoneId.isEmpty => t.withTimeZone(Zones.head) })
      .filter(e => e.deterministic && e.dataType != null)
      .toOption
      .toSeq

  private def casts: Seq[Expression] =
    for {
      x <- Columns
      to <- Types
      e = Cast(x, to, Some(Zones.head))
      if Try(e.checkInputDataTypes().isSuccess).getOrElse(false)
    } yield e

  private def intervals: Seq[Expression] =
    (for {
      n <- Seq(0, 1, -1, 11, 12, 1000000, -1000000, Int.MaxValue)
      d <- Columns if d.dataType == DateType
    } yield DateAddYMInterval(d, Literal(n, YearMonthIntervalType()))) ++
      (for {
        n <- Seq(0L, 1L, -1L, 5400000000L, 86400000000L, -172800000000L, Long.MaxValue, Long.MinValue)
        t <- Columns if t.dataType == TimestampType || t.dataType == TimestampNTZType
      } yield new MinorExpressions.TimestampAddInterval(t, Literal(n, DayTimeIntervalType()), Some(Zones.head)))

  private def step(e: Expression): Option[Step] = TextFunctions.of(e).orElse(MonotoneFunctions.of(e))

  private def zone(e: Expression): String =
    e.collectFirst { case t: TimeZoneAwareExpression => t.timeZoneId.getOrElse("") }.getOrElse("")

  private def withConf(pairs: (String, String)*)(body: => Unit): Unit = {
    val conf = new SQLConf
    pairs.foreach { case (key, value) => conf.setConfString(key, value) }
    SQLConf.withExistingConf(conf)(body)
  }
}

private object FunctionTableTest {
  final case class Argument(value: Any, encoded: Encoded, result: Try[Encoded])

  /** The expression classes that the discovery must find; any other class is a failure. */
  val Functions: Set[String] =
    ("Add Subtract Multiply Divide IntegralDivide UnaryMinus Abs Floor Ceil Round Year YearOfWeek UnixDate TruncDate LastDay " +
      "DateAdd DateSub AddMonths DateAddYMInterval Month Quarter DayOfYear TruncTimestamp UnixSeconds UnixMillis UnixMicros " +
      "ToUnixTimestamp UnixTimestamp SecondsToTimestamp MillisToTimestamp MicrosToTimestamp FromUTCTimestamp ToUTCTimestamp DateFormatClass FromUnixTime " +
      "Cast Substring Concat").split(' ').toSet + classOf[MinorExpressions.TimestampAddInterval].getSimpleName

  /**
   * A zone without offset changes, one with odd minutes and a summer time of one hour, and one with a summer time of 30
   * minutes.
   */
  val Zones: Seq[String] = Seq("UTC", "America/St_Johns", "Australia/Lord_Howe")

  val Types: Seq[DataType] = Seq(
    BooleanType,
    ByteType,
    ShortType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    DecimalType(5, 2),
    DecimalType(9, 0),
    DecimalType(18, 4),
    DateType,
    TimestampType,
    TimestampNTZType,
    StringType
  )

  val Columns: Seq[AttributeReference] = Types.map(AttributeReference("x", _)())

  private val Words = Seq(
    "YEAR",
    "yyyy",
    "YY",
    "QUARTER",
    "Europe/Berlin",
    "Month",
    "MON",
    "MM",
    "WEEK",
    "DAY",
    "DD",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MILLISECOND",
    "MICROSECOND",
    "YEAROFWEEK",
    "nonsense",
    "",
    "DAYS",
    " YEAR",
    "yyyy-MM",
    "yyyy-MM-dd",
    "yyyy/MM/dd HH:mm:ss",
    "yyyyMMdd",
    "yyyy-MM-dd'T'HH:mm",
    "dd-MM-yyyy",
    "yy-MM",
    "y",
    "G yyyy",
    "EEE",
    "UTC",
    "Asia/Tokyo",
    "7",
    "a"
  )

  private val Integers =
    Seq(BigInt(1), BigInt(0), BigInt(-1), BigInt(2), BigInt(3), BigInt(-7), BigInt(12), BigInt(100))

  /** Literals of each type, NULL included. */
  val Literals: Seq[Seq[Literal]] = Seq(
    Words.map(Literal(_)) :+ Literal(null, StringType),
    Integers
      .map(i => Literal(i.toByte)) ++ Seq(Literal(Byte.MinValue), Literal(Byte.MaxValue), Literal(null, ByteType)),
    Integers.map(i => Literal(i.toShort)) ++ Seq(Literal(Short.MinValue), Literal(null, ShortType)),
    Integers.map(i => Literal(i.toInt)) ++
      Seq(100000000, 100000001, 1000000, Int.MinValue, Int.MaxValue).map(Literal(_)) :+ Literal(null, IntegerType),
    Integers.map(i => Literal(i.toLong)) ++ Seq(Long.MinValue, Long.MaxValue).map(Literal(_)) :+ Literal(
      null,
      LongType),
    Seq(1.5d, -2d, 0d, -0d, 1e-300, Double.MaxValue, Double.MinPositiveValue, Double.NaN, Double.PositiveInfinity)
      .map(Literal(_)) :+ Literal(null, DoubleType),
    Seq(1.5f, -2f, 0f, -0f, Float.MaxValue, Float.MinPositiveValue, Float.NaN, Float.NegativeInfinity)
      .map(Literal(_)) :+ Literal(null, FloatType),
    Seq("1.50", "-2.00", "0.00", "999.99", "0.01").map(d => Literal(Decimal(BigDecimal(d), 5, 2), DecimalType(5, 2))),
    Seq("1", "-2", "0", "999999999").map(d => Literal(Decimal(BigDecimal(d), 9, 0), DecimalType(9, 0))),
    Seq("1.5000", "-2.0000", "0.0001", "99999999999999.9999")
      .map(d => Literal(Decimal(BigDecimal(d), 18, 4), DecimalType(18, 4))),
    Seq(0, 19782).map(Literal(_, DateType)),
    Seq(0L, 1700000000000000L).map(Literal(_, TimestampType)),
    Seq(0L, 1700000000000000L).map(Literal(_, TimestampNTZType)),
    Seq(Literal(true), Literal(false))
  )

  def around(x: Long): Seq[Long] =
    (if (x > Long.MinValue) Seq(x - 1) else Nil) ++ Seq(x) ++ (if (x < Long.MaxValue) Seq(x + 1) else Nil)

  def inDomain(dataType: DataType, x: Long): Boolean = {
    val domain = CatalystValues.domain(dataType)
    domain.first <= x && x <= domain.last
  }

  private val Days: Seq[LocalDate] = Seq(
    (-250000, 1, 1),
    (-200000, 1, 1),
    (-1, 12, 31),
    (0, 1, 1),
    (0, 12, 31),
    (1, 1, 1),
    (1, 1, 3),
    (1582, 10, 4),
    (1582, 10, 15),
    (1600, 2, 29),
    (1883, 11, 18),
    (1899, 12, 31),
    (1900, 1, 1),
    (1969, 12, 31),
    (1970, 1, 1),
    (1970, 1, 2),
    (1999, 12, 31),
    (2000, 2, 29),
    (2018, 12, 31),
    (2020, 12, 28),
    (2021, 1, 1),
    (2021, 1, 3),
    (2024, 1, 31),
    (2024, 2, 29),
    (2024, 3, 10),
    (2024, 4, 7),
    (2024, 10, 6),
    (2024, 11, 3),
    (2069, 12, 31),
    (2070, 1, 1),
    (9998, 12, 31),
    (9999, 12, 29),
    (9999, 12, 31),
    (10000, 1, 1),
    (10001, 6, 1),
    (200000, 12, 31),
    (250000, 1, 1)
  ).map { case (y, m, d) => LocalDate.of(y, m, d) }

  private val Times = Seq((0, 0, 0, 0), (0, 0, 0, 1), (1, 30, 0, 0), (2, 0, 0, 0), (6, 1, 1, 5), (23, 59, 59, 999999))

  private val Instants: Seq[Long] = Days.flatMap { day =>
    Times.map { case (h, m, s, micros) =>
      LocalDateTime
        .of(day.getYear, day.getMonth, day.getDayOfMonth, h, m, s)
        .toEpochSecond(ZoneOffset.UTC) * 1000000L + micros
    }
  }

  private val Longs: Seq[Long] =
    Seq(Byte.MinValue, Byte.MaxValue, Short.MinValue, Short.MaxValue).map(_.toLong) ++
      Seq(
        Int.MinValue.toLong,
        Int.MaxValue.toLong,
        Long.MinValue,
        Long.MaxValue,
        0L,
        7L,
        -7L,
        49L,
        50L,
        99L,
        100L,
        12345L) ++
      Seq(86400L, 1700000000L, -62135596800L, 253402300799L, 1700000000000L, 1700000000000000L)

  private val Reals: Seq[Double] =
    Seq(0d, 0.4, 0.5, 1.5, 2.5, 1e-9, 3.1, 127.5, 1e7, 1e10, 1e15, 1e18, 1e19, 1e30, 1e300) ++
      Seq(2147483520d, 2147483647d, 2147483648d, 9223371487098961920d, 9.223372036854776e18, Float.MaxValue.toDouble) ++
      Seq(Double.MaxValue, Double.MinPositiveValue, Double.PositiveInfinity)

  private val Texts: Seq[UTF8String] =
    Seq(
      "",
      " ",
      "a",
      "ab",
      "abc",
      "b",
      "A",
      "0",
      "-0",
      "+1",
      "1",
      "-1",
      "007",
      "127",
      "128",
      "2147483648",
      "9223372036854775808",
      "1.5",
      "1e3",
      "NaN",
      "true",
      "é",
      "e\u0301",
      "\u20ac",
      "\ud83d\ude00",
      "\ud83d\ude00x",
      "\ufffd",
      "\uffff",
      "a\u0000",
      "2024-02-29",
      "2024-02-29 01:30:00",
      "yyyy",
      "YEAR",
      "aY",
      "YEARa",
      "z" * 40
    ).map(UTF8String.fromString) ++
      // These bytes are not valid UTF-8. If a text ends within a character, Spark's substring() returns bytes from
      // beyond the end of the text.
      Seq(Array(0xff, 0xfe), Array(0x61, 0x80), Array(0xed, 0xa0, 0x80), Array(0x80), Array(0xc3, 0x61, 0x61))
        .map(bytes => UTF8String.fromBytes(bytes.map(_.toByte)))

  /** Sample values of a type, in Catalyst's representation. */
  def samples(dataType: DataType): Seq[Any] =
    dataType match {
      case BooleanType => Seq(true, false)
      case StringType  => Texts
      case DoubleType  => Reals ++ Reals.map(-_) :+ Double.NaN
      case FloatType   => (Reals.map(_.toFloat) ++ Reals.map(-_.toFloat) :+ Float.NaN).distinct
      case DateType =>
        (Days.map(_.toEpochDay.toInt) ++ Seq(Int.MinValue, Int.MinValue + 1, Int.MaxValue)).flatMap(d => Seq(d))
      case TimestampType | TimestampNTZType => Instants ++ Seq(Long.MinValue, Long.MaxValue, 0L, -1L)
      case other =>
        Longs.flatMap(around).distinct.filter(inDomain(other, _)).map(CatalystValues.decode(other, _)) ++
          Seq(CatalystValues.domain(other)).flatMap(d => Seq(d.first, d.last)).map(CatalystValues.decode(other, _))
    }
}
