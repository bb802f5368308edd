// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import java.lang.management.ManagementFactory
import java.time.ZoneId

import scala.collection.mutable
import scala.util.{Failure, Success, Try}

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{And, AttributeReference, BindReferences, Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.{Rng, Seeded}
import zonemap.core.predicate.{ColumnRef, ColumnSpan, Evaluated}
import zonemap.core.value.{ColumnType, ZoneValue}
import zonemap.spark.SharedSession

/**
 * Conditions on the spans of random files: none is refuted for a file with a row for which Catalyst evaluates it to TRUE,
 * or fails. Each condition is refuted for some file that has no such row.
 */
class IntervalsTest extends SharedSession with Seeded {
  private val schema = RandomExpressions.schema
  private lazy val frame = spark.createDataFrame(spark.sparkContext.emptyRDD[Row], schema)

  private object Columns extends ColumnResolver {
    override def column(expression: Expression): Option[ColumnRef] =
      expression match {
        case a: AttributeReference =>
          Some(ColumnRef(schema.fieldIndex(a.name), RandomExpressions.columnType(a.dataType), a.name))
        case _ => None
      }
  }

  /** Expressions of a random value, which is compared with that value in another file. */
  private val expressions = Seq(
    "i + i2",
    "i - i2",
    "i * i2",
    "i * i",
    "l + i",
    "l - i * 3",
    "l * l",
    "d + d2",
    "d - d2",
    "d * d2",
    "d / d2",
    "f + f",
    "i / i2",
    "i div i2",
    "m + m",
    "m * m",
    "m / (m + 1000)",
    "m - i",
    "- (i + i2)",
    "abs(i - i2)",
    "try_add(i, i2)",
    "sqrt(d)",
    "sqrt(d * d + d2 * d2)",
    "sqrt(i)",
    "round(l, -3)",
    "round(i + i2, -1)",
    "bround(d + d2, 1)",
    "floor(d + d2)",
    "greatest(i, i2)",
    "greatest(d, d2)",
    "least(d, d2)",
    "least(i, i2, 5)",
    "greatest(ts, ts2)",
    "i % 7000",
    "pmod(l, 100000)",
    "datediff(dt, to_date(ts))",
    "date_add(dt, i)",
    "date_sub(dt, i2)",
    "add_months(dt, i)",
    "dt - to_date(ts)",
    "ts - ts2",
    "timestampdiff(HOUR, ts, ts2)",
    "timestampdiff(DAY, ts2, ts)",
    "timestampdiff(MONTH, ts, ts2)",
    "timestampdiff(YEAR, ts, ts2)",
    "months_between(ts, ts2)",
    "months_between(dt, ts)",
    "ts + INTERVAL '1' DAY",
    "ts - INTERVAL '90' MINUTE",
    "n + INTERVAL '36' HOUR",
    "from_utc_timestamp(ts, 'America/New_York')",
    "to_utc_timestamp(ts, 'Europe/Berlin')",
    "hour(ts)",
    "minute(ts)",
    "second(ts)",
    "hour(n)",
    "minute(n)",
    "dayofmonth(ts)",
    "dayofmonth(dt)",
    "dayofweek(dt)",
    "weekday(dt)",
    "weekofyear(dt)",
    "make_date(year(ts), month(ts), dayofmonth(ts))",
    "make_date(year(dt), month(dt), 28)",
    "concat(s, s2)",
    "concat(s, '-', s2)",
    "concat('a', s2, 'b')",
    "CASE WHEN i > i2 THEN l ELSE i END",
    "coalesce(i + i2, l)",
    "if(i < i2, d, d2)"
  )

  private val conditions = Seq(
    "i + i2 < l",
    "i < i2 * 3",
    "NOT (i + i2 > l)",
    "concat(s, s2) IS NULL",
    "(i + i2) IS NULL",
    "(i + i2) IS NOT NULL",
    "d + d2 <=> d * 2",
    "concat(s, s2) LIKE 'ab%'",
    "hour(ts) IN (1, 2)",
    "i + i2 IN (1, 776, 777, 778, 1554)",
    "b = (i + i2 > 0)",
    "CASE WHEN i + i2 > 0 THEN b ELSE d + d2 < 0 END",
    "year(ts) = 2021 AND month(ts) = 3 AND dayofmonth(ts) = 14"
  )

  /** Values near a value: of one file, which is written at about one time. */
  private def near(value: Any, scale: Long, rng: Rng): Any = {
    val by = if (scale == 0) 0L else rng.long() % scale
    value match {
      case i: Int                        => (i + by).max(Int.MinValue.toLong).min(Int.MaxValue.toLong).toInt
      case n: Long if n.abs > (1L << 40) => n + by * 100000
      case n: Long                       => n + by
      case x: Double                     => x + by / 4.0
      case x: Float                      => x + by.toFloat
      case x: Decimal =>
        Decimal((x.toUnscaledLong + by).max(-9999999999L).min(9999999999L), x.precision, x.scale)
      case text: UTF8String if by > 0 => UTF8String.concat(text, UTF8String.fromString(rng.pick(Seq("a", "b", "0"))))
      case other                      => other
    }
  }

  private def file(random: RandomExpressions, rng: Rng): Seq[InternalRow] = {
    val base = schema.fields.toSeq.map(random.value)
    val scale = rng.pick(Seq(0L, 2L, 30L, 3000L))
    val hasNulls = rng.chance(30)
    Seq.fill(1 + rng.int(4)) {
      InternalRow.fromSeq(base.map(v => if (hasNulls && rng.chance(20)) null else near(v, scale, rng)))
    }
  }

  private def spanOf(rows: Seq[InternalRow], rng: Rng)(column: ColumnRef): ColumnSpan = {
    val dataType = schema(column.fieldId).dataType
    val cells = rows.map(r => CatalystValues.encode(dataType, r.get(column.fieldId, dataType)))
    val values: Seq[ZoneValue] = cells.collect { case Encoded.Value(v) => v }
    if (cells.forall(_ == Encoded.Null)) ColumnSpan.OnlyNull
    else {
      def end(known: Seq[ZoneValue] => ZoneValue) = if (values.isEmpty || rng.chance(3)) null else known(values)
      ColumnSpan(
        end(_.min),
        end(_.max),
        hasValues = true,
        hasNulls = cells.contains(Encoded.Null) || rng.chance(5),
        hasNaN = cells.contains(Encoded.NaN) || rng.chance(2))
    }
  }

  private def filter(text: String): Option[Expression] =
    Try(frame.where(text).queryExecution.optimizedPlan).toOption.flatMap(_.collectFirst { case Filter(c, _) => c })

  private def conjuncts(e: Expression): Seq[Expression] = e match {
    case And(l, r) => conjuncts(l) ++ conjuncts(r)
    case other     => Seq(other)
  }

  private def literal(row: InternalRow)(expression: String): Option[String] =
    Try {
      val plan = frame.selectExpr(s"$expression AS x").queryExecution.optimizedPlan
      val found = BindReferences.bindReference(plan.expressions.head: Expression, plan.children.head.output)
      (found.eval(row), found.dataType)
    }.toOption.collect { case (value, dataType) if value != null => RandomExpressions.sql(value, dataType) }

  private val checks = mutable.Map.empty[String, Int].withDefaultValue(0)
  private val refuted = mutable.Map.empty[String, Int].withDefaultValue(0)
  private val empty = mutable.Map.empty[String, Int].withDefaultValue(0)

  private def check(name: String, text: String, files: Seq[Seq[InternalRow]], rng: Rng): Unit =
    filter(text).foreach { condition =>
      val parts = conjuncts(condition).flatMap(CatalystCondition.of(_, Columns, new EvaluationBudget))
      val bound = BindReferences.bindReference(
        condition,
        frame.queryExecution.analyzed.output.map { a =>
          condition.references.find(_.name == a.name).getOrElse(a)
        })
      files.foreach { rows =>
        checks(name) += 1
        def mayHold(part: Evaluated) = part.condition.mayHoldWithin(part.columns.map(spanOf(rows, rng)))
        val outcomes = rows.map(row => Try(bound.eval(row)))
        val isMatch = outcomes.exists { case Success(value) => value == true; case Failure(_) => parts.size == 1 }
        if (!isMatch) empty(name) += 1
        if (!parts.forall(mayHold)) {
          refuted(name) += 1
          assert(!isMatch, s"$text is refuted, but is $outcomes for ${rows.map(_.toSeq(schema))}")
        }
      }
    }

  for (zoneId <- Seq("UTC", "America/Havana", "Australia/Lord_Howe"); ansi <- Seq(true, false))
    test(s"random files, $zoneId, ANSI $ansi (S194 to S199)") {
      withConf("spark.sql.session.timeZone" -> zoneId, "spark.sql.ansi.enabled" -> ansi.toString) {
        SQLConf.withExistingConf(spark.sessionState.conf)(rounds(1) { rng =>
          val random = new RandomExpressions(rng, ZoneId.of(zoneId))
          val files = Seq.fill(60)(file(random, rng))
          conditions.foreach(text => check(text, text, files, rng))
          for (expression <- expressions; op <- Seq("=", "<", ">="))
            Iterator
              .continually(literal(rng.pick(rng.pick(files)))(expression))
              .take(5)
              .flatten
              .take(1)
              .foreach(value => check(expression, s"$expression $op $value", files, rng))
        })
      }
    }

  private val NoNulls = ColumnSpan(null, null, hasValues = true, hasNulls = false, hasNaN = false)

  /** The span of values that are given as SQL literals. */
  private def span(lower: String, upper: String): ColumnSpan = {
    def value(text: String): ZoneValue = {
      val found = frame.sparkSession.sql(s"SELECT $text AS x").queryExecution.optimizedPlan
      val literal = found.expressions.head.collectFirst { case l: org.apache.spark.sql.catalyst.expressions.Literal =>
        l
      }.get
      CatalystValues.encode(literal.dataType, literal.value) match {
        case Encoded.Value(v) => v
        case other            => throw new IllegalArgumentException(s"$text is $other")
      }
    }
    NoNulls.copy(lower = value(lower), upper = value(upper))
  }

  private def isKept(text: String, spans: (String, ColumnSpan)*): Boolean = {
    val of = spans.toMap
    conjuncts(filter(text).get)
      .flatMap(CatalystCondition.of(_, Columns, new EvaluationBudget))
      .forall(part => part.condition.mayHoldWithin(part.columns.map(c => of(c.name))))
  }

  test("what spans tell, and what they do not") {
    val berlin = "ts" -> span("TIMESTAMP'2025-10-26 00:30:00Z'", "TIMESTAMP'2025-10-26 01:10:00Z'")
    val hour = "ts2" -> span("TIMESTAMP'2025-10-26 00:00:00Z'", "TIMESTAMP'2025-10-26 00:00:00Z'")
    val halves = span("1D", "2D")
    val endless = span("double('-Infinity')", "double('Infinity')")
    Seq[(String, Seq[(String, ColumnSpan)], Boolean)](
      ("i + i2 < 11", Seq("i" -> span("1", "3"), "i2" -> span("10", "20")), false),
      ("i + i2 < 11", Seq("i" -> span("1", "3"), "i2" -> span("7", "20")), true),
      ("i + i2 < 11", Seq("i" -> span("1", "3"), "i2" -> span("10", "20").copy(lower = null)), true),
      ("i * i < 0", Seq("i" -> span("1000", "40000")), false),
      ("i * i < 0", Seq("i" -> span("1000", "50000")), true),
      ("i * i = 100", Seq("i" -> span("0", "65536")), true),
      ("i * i IS NULL", Seq("i" -> span("1000", "40000")), false),
      ("i * i IS NULL", Seq("i" -> span("1000", "40000").copy(hasNulls = true)), true),
      ("d < d2", Seq("d" -> halves, "d2" -> span("0D", "0.5D")), false),
      ("d < d2", Seq("d" -> halves, "d2" -> span("0D", "0.5D").copy(hasNaN = true)), true),
      ("d / d2 > 10", Seq("d" -> halves, "d2" -> span("1D", "2D")), false),
      ("d / d2 > 10", Seq("d" -> halves, "d2" -> span("-1D", "1D")), true),
      ("isnan(d * d2)", Seq("d" -> halves, "d2" -> span("-1D", "1D")), false),
      ("isnan(d * d2)", Seq("d" -> endless, "d2" -> span("-1D", "1D")), true),
      ("isnan(d + d2)", Seq("d" -> halves.copy(hasNaN = true), "d2" -> halves), true),
      ("least(i, i2) > 50", Seq("i" -> span("1", "5"), "i2" -> span("100", "200")), false),
      ("least(i, i2) > 50", Seq("i" -> span("1", "5").copy(hasNulls = true), "i2" -> span("100", "200")), true),
      ("least(i, i2) > 50", Seq("i" -> ColumnSpan.OnlyNull, "i2" -> span("1", "2")), false),
      ("concat(s, s2) = 'ba'", Seq("s" -> span("'a'", "'ab'"), "s2" -> span("'c'", "'z'")), false),
      ("concat(s, s2) = 'az'", Seq("s" -> span("'a'", "'ab'"), "s2" -> span("'c'", "'z'")), true),
      ("concat(s, s2) = 'az'", Seq("s" -> span("'a'", "'a'"), "s2" -> span("'c'", "'y'")), false),
      (
        "concat(CAST(dt AS STRING), s) = '1400-02-20a'",
        Seq("dt" -> span("DATE'1400-03-01'", "DATE'1400-03-01'"), "s" -> span("'a'", "'b'")),
        true),
      (
        "months_between(ts, ts2) > 1.05",
        Seq(
          "ts" -> span("TIMESTAMP'2025-03-29'", "TIMESTAMP'2025-03-31'"),
          "ts2" -> span("TIMESTAMP'2025-02-28'", "TIMESTAMP'2025-02-28'")),
        true),
      (
        "timestampdiff(MONTH, ts, ts2) = 0",
        Seq(
          "ts" -> span("TIMESTAMP'2025-01-30'", "TIMESTAMP'2025-02-01'"),
          "ts2" -> span("TIMESTAMP'2025-03-01 12:00:00'", "TIMESTAMP'2025-03-01 12:00:00'")),
        true),
      ("ts - ts2 > INTERVAL '45' MINUTE", Seq(berlin, hour), true),
      ("ts - ts2 > INTERVAL '16' HOUR", Seq(berlin, hour), false),
      ("make_date(2025, i, i2) IS NULL", Seq("i" -> span("1", "3"), "i2" -> span("30", "30")), true),
      ("make_date(2025, i, i2) IS NULL", Seq("i" -> span("3", "3"), "i2" -> span("30", "31")), false),
      ("hour(ts) = 5", Seq("ts" -> span("TIMESTAMP'2025-03-03 10:00:00'", "TIMESTAMP'2025-03-03 15:00:00'")), false),
      ("hour(ts) = 23", Seq("ts" -> span("TIMESTAMP'2025-03-03 10:00:00'", "TIMESTAMP'2025-03-04 15:00:00'")), true),
      ("i % 7 = 6", Seq("i" -> span("70", "73")), false),
      ("i % 7 = 6", Seq("i" -> span("70", "78")), true),
      ("i % 7 = 6", Seq("i" -> span("-2", "3")), true)
    ).foreach { case (text, spans, kept) =>
      withConf("spark.sql.session.timeZone" -> "Europe/Berlin", "spark.sql.ansi.enabled" -> "false") {
        assert(isKept(text, spans: _*) == kept, s"$text $spans")
      }
    }
  }

  test("the work of a plan is limited, and what is left is kept") {
    val budget = new EvaluationBudget
    val part = conjuncts(filter("i + i2 < 11").get).flatMap(CatalystCondition.of(_, Columns, budget)).last
    val spans = Seq(span("1", "3"), span("10", "20"))
    val cpu = ManagementFactory.getThreadMXBean
    val before = cpu.getCurrentThreadCpuTime
    val refutations = Iterator.continually(part.condition.mayHoldWithin(spans)).takeWhile(!_).size
    val each = (cpu.getCurrentThreadCpuTime - before) / refutations / 1000.0
    println(f"IntervalsTest: $refutations evaluations, $each%.2f us each")
    assert(refutations >= 300000 && refutations <= 1000000 && part.condition.isSpent)
    val failing =
      conjuncts(filter("i * i2 < 11").get).flatMap(CatalystCondition.of(_, Columns, new EvaluationBudget)).last
    val overflow = Seq.fill(2)(span("1", "2000000000"))
    val errors = Iterator
      .continually(failing.condition.mayHoldWithin(overflow))
      .take(1000000)
      .takeWhile(_ => !failing.condition.isSpent)
    assert(errors.size < 30000, "an error takes longer")
  }

  test("each condition was refuted, and most of those that hold for no row") {
    val never = (expressions ++ conditions).filter(refuted(_) == 0)
    assert(never.isEmpty, never)
    val shares = empty.keys.toSeq.map(name => name -> 100 * refuted(name) / empty(name).max(1)).sortBy(_._2)
    println(
      s"IntervalsTest: ${checks.values.sum} checks, ${empty.values.sum} without a row, ${refuted.values.sum} refuted")
    println(shares.mkString("IntervalsTest, per cent refuted: ", ", ", ""))
    assert(checks.values.sum > 3000 && refuted.values.sum > empty.values.sum * 4 / 10)
  }
}
