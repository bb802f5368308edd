// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}
import org.apache.spark.sql.catalyst.plans.logical.Filter

import zonemap.core.predicate.{ColumnRef, Evaluated}
import zonemap.core.value.{ColumnType, LongValue, ZoneValues}
import zonemap.spark.SharedSession

/** The conditions that may be evaluated while a query is planned, and the digests that distinguish two conditions. */
class CatalystConditionTest extends SharedSession {
  private val schema = RandomExpressions.schema
  private lazy val frame = spark.createDataFrame(spark.sparkContext.emptyRDD[Row], schema)
  private val known = Map("i" -> "int", "l" -> "long", "s" -> "string", "ts" -> "timestamptz", "dt" -> "date")

  private object Columns extends ColumnResolver {
    override def column(expression: Expression): Option[ColumnRef] =
      expression match {
        case a: AttributeReference =>
          known.get(a.name).flatMap(ColumnType.parse).map(ColumnRef(schema.fieldIndex(a.name), _, a.name))
        case _ => None
      }
  }

  private def conditionOf(text: String): Expression =
    frame.where(text).queryExecution.optimizedPlan.collectFirst { case Filter(condition, _) => condition }.get

  private def of(text: String): Option[Evaluated] =
    CatalystCondition.of(conditionOf(text), Columns, new EvaluationBudget)

  private def digest(text: String): String = of(text).get.condition.digest

  test("Spark's own functions of columns are evaluated, nothing else is") {
    spark.udf.register("plus", (x: Int) => x + 1)
    val among: Int => Boolean = Set(1, 2, 3)
    spark.udf.register("among", among)
    val evaluated = Seq(
      "i % 2 = 1",
      "upper(s) LIKE 'A_%' AND length(s) > i",
      "left(trim(s), 2) = 'x' OR right(s, 1) = 'y'",
      "hour(ts) = 3",
      "CASE WHEN md5(s) < 'b' THEN l ELSE i END IN (1, 2)",
      "nullif(s, 'x') = 'y'",
      "try_divide(1, i) > 0",
      "round(l, -2) = 100",
      "greatest(bit_count(i), shiftleft(i, 1), ceil(sqrt(l))) = 3",
      "date_format(ts, 'EEE') = 'Mon'",
      "datediff(dt, DATE '2026-01-01') % 7 = 0",
      "pmod(xxhash64(s), 10) = 3",
      "s LIKE '%a_b%'"
    )
    val others = Seq(
      "plus(i) = 2",
      "among(i)",
      "IF(i > 5, CAST('x' AS INT), i) = 1", // the constant fails
      "exists(array(i), x -> x = 1)",
      "rand() < i",
      "length(repeat(s, 1000000)) > 5",
      "length(lpad(s, i, 'x')) > 5",
      "length(space(i)) > 5",
      "length(format_number(i, 1000000)) > 5",
      "length(printf('%1000000d', i)) > 5",
      "round(l, -2000000) = 100",
      "size(sequence(1, i)) > 5",
      "reflect('java.lang.Math', 'abs', i) = '1'",
      "size(map_from_arrays(array(s, 'a'), array(i, 1))) = 1",
      "from_json(s, 'a INT').a = 1",
      "get_json_object(s, '$.a') = 'x'",
      "CAST(s AS INTERVAL DAY) = INTERVAL '1' DAY", // a conf has the format
      "CAST(named_struct('a', s) AS STRING) = '{a}'",
      "s RLIKE '^a'",
      "regexp_extract(s, '^(\\\\w+)-', 1) = 'b'",
      "split(s, ',')[0] = 'a'",
      "(s, i) IN (('a', 1), ('b', 2))",
      "s LIKE ANY ('%a_b%', 'c%d')",
      "s LIKE concat('%', i)", // any pattern
      "s LIKE concat('%a_', repeat('a', 5000))", // takes long to compile
      "CAST(s AS DECIMAL(10, 2)) = 5", // 1e-99999990 takes minutes
      "try_cast(s AS DECIMAL(10, 2)) = 5",
      "CAST(s AS TIMESTAMP) > TIMESTAMP '2026-01-01 00:00:00'", // 'T12:30' takes the day from the clock
      "s > TIMESTAMP '2026-01-01 00:00:00'",
      "hour(s) = 12",
      "element_at(array(1, 2, 3), i) = 2", // Spark ends the process at the least integer
      "array_contains(array('a', 'b'), s)",
      "contains(concat(repeat('a', 100000), s), repeat('a', 100000))",
      "date_format(ts, repeat('zzzz', 30)) = 'x'", // reads the names of all zones for each
      "b AND i % 2 = 1", // b is an unknown column
      "d + i > 3"
    )
    val ofCollations = Seq(
      "hash(s COLLATE UTF8_LCASE) = 1", // collations may count or not
      "contains(CAST(s AS STRING COLLATE UTF8_LCASE), CAST('x' AS STRING COLLATE UTF8_LCASE))" // may take long
    )
    withConf("spark.sql.ansi.enabled" -> "true") {
      evaluated.foreach(text => assert(of(text).isDefined, text))
      (others ++ ofCollations.filter(_ => hasCollations)).foreach(text => assert(of(text).isEmpty, text))
    }
  }

  test("digests are equal for what is the same function of the same columns only") {
    assert(digest("i % 2 = 1") == digest("i % 2 = 1") && of("i % 2 = 1") == of("i % 2 = 1"))
    val texts = Seq(
      "i % 2 = 1",
      "i % 2 = 0",
      "l % 2 = 1",
      "i % 3 = 1",
      "CAST(i AS BIGINT) % 2 = 1",
      "i + l > 3",
      "l + i > 3",
      "s LIKE 'a_c'",
      "s LIKE 'a_c' ESCAPE '!'",
      "s LIKE 'a_d'",
      "concat(s, 'a') LIKE '_b%'",
      "concat(s, 'ab') LIKE '_%'",
      "i % 7 IN (1, 2, 3)",
      "i % 7 IN (1, 2, 4)",
      "hour(ts) = 3",
      "dayofweek(dt) = 3"
    )
    assert(texts.map(digest).distinct.size == texts.size)
    def under(zone: String, ansi: Boolean) =
      withConf("spark.sql.session.timeZone" -> zone, "spark.sql.ansi.enabled" -> ansi.toString)(
        Seq("hour(ts) = 3", "i % 2 = 1").map(digest))
    val settings = for (zone <- Seq("UTC", "America/Havana"); ansi <- Seq(true, false)) yield under(zone, ansi)
    assert(settings.flatten.distinct.size == 8)
  }

  test("what it says of values; an error, and a value that the column cannot hold, may be a match") {
    withConf("spark.sql.ansi.enabled" -> "true") {
      def may(text: String, values: Any*) = of(text).get.condition.mayHold(values.map {
        case null         => null
        case text: String => ZoneValues.ofString(text)
        case other        => ZoneValues.ofLong(other.toString.toLong)
      })
      assert(may("i % 2 = 1", 3) && !may("i % 2 = 1", 4) && !may("i % 2 = 1", null))
      assert(may("10 / i > 5", 0) && !may("10 / i > 5", 7))
      assert(may("i % 2 = 1", 4000000000L), "no int")
      assert(may("coalesce(s, 'x') LIKE '_'", null) && !may("coalesce(s, 'x') LIKE '_'", "yy"))
      assert(may("concat(s, i) = 'a1'", "a", 1) && !may("concat(s, i) = 'a1'", "a", 2))
    }
    val lengthOfText = of("length(s) = 2").get.condition
    assert(lengthOfText.mayHold(Seq(LongValue(7))), "of another type")
  }

  test("what would take too long is a match: long texts, patterns with many percent signs, many values") {
    def may(text: String, value: String) = of(text).forall(_.condition.mayHold(Seq(ZoneValues.ofString(value))))
    val patient = "s LIKE '%a_a%a_a%a_a%a_a%b%'"
    assert(!may(patient, "aaaa") && may(patient, "a" * 200))
    assert(!may("contains(s, 'b')", "a" * 1024) && may("contains(s, 'b')", "a" * 1025))
    assert(!may("length(s) = 7", "a" * 1024) && may("length(s) = 7", "a" * 1025))
    val condition = of("s LIKE 'x%y%z_%b'").get.condition
    val kept = (1 to 4000).indexWhere(k => condition.mayHold(Seq(ZoneValues.ofString(f"a$k%019d"))))
    assert(kept > 10, "the limit of all evaluations")
    val shared = new EvaluationBudget
    def next(k: Int) = CatalystCondition.of(conditionOf(s"s LIKE 'x%y%${k}_%b'"), Columns, shared).get.condition
    val others = (1 to 1000).indexWhere(k => next(k).mayHold(Seq(ZoneValues.ofString("a" * 30))))
    assert(others > 5, "the limit of all conditions of a scan")
  }

  test("a condition is a match if it is one under any value of a conf that functions read with the rows") {
    def may(text: String, value: String) = of(text).get.condition.mayHold(Seq(ZoneValues.ofString(value)))
    def day(text: String) = LongValue(java.time.LocalDate.parse(text).toEpochDay)
    for (policy <- Seq("LEGACY", "CORRECTED", "EXCEPTION"); icu <- Seq("true", "false"))
      withConf("spark.sql.legacy.timeParserPolicy" -> policy, "spark.sql.icu.caseMappings.enabled" -> icu) {
        assert(may("try_to_timestamp(s, 'yyyy-MM-dd') IS NOT NULL", "2026-2-3"), "only the legacy parser reads it")
        assert(may("try_to_timestamp(s, 'yyyy-MM-dd') IS NULL", "2026-2-3"), "only the legacy parser reads it")
        assert(!may("try_to_timestamp(s, 'yyyy-MM-dd') IS NOT NULL", "x"))
        // the ICU library and the JVM are of different versions of Unicode: Old Polish O
        if (MinorExpressions.caseMappingConf.isDefined)
          assert(may("upper(s) = '\ua7c0'", "\ua7c1") && may("upper(s) = '\ua7c1'", "\ua7c1"))
        assert(!may("upper(s) = 'A'", "b"))
        val text = of("date_format(dt, 'EEE') = 'Thu'").get.condition
        assert(text.mayHold(Seq(day("1582-10-04"))), "a Monday of the proleptic calendar")
        assert(!text.mayHold(Seq(day("2026-01-02"))))
      }
  }
}
