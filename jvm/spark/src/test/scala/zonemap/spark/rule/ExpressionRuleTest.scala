// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.rule

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

import zonemap.spark.scan.ZoneMapRelation

/** Conditions on functions of columns: the number of files retained, and the same rows as without the extension. */
class ExpressionRuleTest extends PlannedFiles {
  private val Files = 12

  /**
   * Creates twelve files of ten rows. File k (0 to 11) has dates of month k + 1 of 2025; its ids and values of i are
   * 100k to 100k + 9, l = 10 i, d and f are i / 2, m is i / 100, and s begins with the k-th letter. File 11 also has
   * nulls.
   */
  private lazy val table: String = {
    val name = "lake.db.functions"
    sql(s"DROP TABLE IF EXISTS $name")
    sql(
      s"""CREATE TABLE $name (id INT, i INT, l BIGINT, d DOUBLE, f FLOAT, m DECIMAL(10, 2), dt DATE, ts TIMESTAMP,
         |  n TIMESTAMP_NTZ, s STRING, b BOOLEAN, j INT, st STRUCT<a: INT, t: STRUCT<u: STRING>>) USING iceberg""".stripMargin)
    (0 until Files).foreach { k =>
      val nulls =
        if (k == 11) s"UNION ALL SELECT 1200, null, null, null, null, null, null, null, null, null, null, null, null"
        else ""
      sql(
        s"""INSERT INTO $name SELECT /*+ COALESCE(1) */ * FROM (
           |SELECT CAST(id AS INT), CAST(id AS INT), 10 * id, id / 2D, CAST(id / 2D AS FLOAT), CAST(id / 100D AS DECIMAL(10, 2)),
           |  DATE '2025-01-10' + make_interval(0, $k) + make_interval(0, 0, 0, CAST(id % 10 AS INT)),
           |  CAST(TIMESTAMP_NTZ '2025-01-10 12:00:00' + make_interval(0, $k, 0, CAST(id % 10 AS INT)) AS TIMESTAMP),
           |  TIMESTAMP_NTZ '2025-01-10 12:00:00' + make_interval(0, $k, 0, CAST(id % 10 AS INT)),
           |  concat(chr(97 + $k), 'x', CAST(id AS STRING)), $k % 2 = 0, CAST(id + 5 AS INT),
           |  named_struct('a', CAST(id AS INT), 't', named_struct('u', concat(chr(97 + $k), 'u')))
           |FROM RANGE(${100 * k}, ${100 * k + 10}) $nulls)""".stripMargin)
    }
    build(name)
    name
  }

  /**
   * Each condition with the number of the twelve files that it retains: some conditions prune, others must retain all
   * files.
   */
  private val cases: Seq[(String, Int)] = Seq(
    "year(ts) = 2025" -> 12,
    "year(ts) = 2024" -> 0,
    "year(ts) < 2025 OR i = 7" -> 1,
    "to_date(ts) = DATE '2025-03-12'" -> 1,
    "to_date(n) = DATE '2025-03-12'" -> 1,
    "date_trunc('MONTH', ts) = TIMESTAMP '2025-04-01'" -> 1,
    "date_trunc('QUARTER', ts) = TIMESTAMP '2025-04-01'" -> 3,
    "trunc(dt, 'MONTH') = DATE '2025-05-01'" -> 1,
    // The functions return NULL for these invalid units.
    "date_trunc('nonsense', ts) IS NULL" -> 12,
    "trunc(dt, 'DAY') IS NULL" -> 12,
    "NOT (trunc(dt, 'HOUR') IS NOT NULL)" -> 12,
    "trunc(dt, 'YEAR') = DATE '2024-01-01'" -> 0,
    "month(dt) = 6" -> 1,
    "quarter(ts) = 4" -> 3,
    "year(ts) = 2025 AND month(ts) IN (1, 12)" -> 2,
    "last_day(dt) = DATE '2025-02-28'" -> 1,
    "date_add(dt, 31) > DATE '2025-12-30'" -> 1,
    "add_months(dt, 1) < DATE '2025-03-01'" -> 1,
    "dt + INTERVAL 7 DAYS < DATE '2025-01-25'" -> 1,
    "CAST(id AS BIGINT) + 1 = 708" -> 1,
    "CAST(l AS INT) = 7070" -> 1,
    "i + 1 = 708" -> 1,
    "100 - i > 0" -> 1,
    "-i < -1000" -> 2,
    "i * 2 = 1010" -> 1,
    "abs(i - 500) <= 5" -> 1,
    "floor(d) >= 500" -> 2,
    "ceil(d) < 1" -> 1,
    "CAST(m AS INT) = 6" -> 1,
    "m * 2 > 21.9" -> 1,
    "d / 2 < 3" -> 1,
    "f + CAST(1 AS FLOAT) <= 2" -> 1,
    "substring(s, 1, 1) = 'c'" -> 1,
    "left(s, 2) IN ('ax', 'lx', 'zz')" -> 2,
    "concat('p', s) < 'pb'" -> 1,
    "date_format(ts, 'yyyy-MM-dd') = '2025-07-11'" -> 1,
    "CAST(ts AS STRING) LIKE '2025-08%'" -> 1,
    "from_unixtime(unix_timestamp(ts)) < '2025-02'" -> 1,
    "unix_timestamp(ts) < unix_timestamp(TIMESTAMP '2025-02-01')" -> 1,
    // functions of several columns, and functions that rise within a period (S194 to S199)
    "i + j < 120" -> 1,
    "i - j > 20" -> 0,
    "i - j > -5" -> 12,
    "i * i < 100" -> 1,
    "i < j * -1 + 20" -> 1,
    "greatest(i, j) < 50" -> 1,
    "least(i, j) > 1095" -> 1,
    "sqrt(i) < 3" -> 1,
    "round(l, -3) = 3000" -> 1,
    "i / j > 1.5" -> 1,
    "ts + INTERVAL '1' DAY < TIMESTAMP '2025-01-25'" -> 1,
    "ts - n > INTERVAL '5' DAY" -> 12,
    "ts - n > INTERVAL '20' DAY" -> 0,
    "datediff(to_date(ts), dt) > 20" -> 0,
    "timestampdiff(DAY, ts, TIMESTAMP '2025-02-01') > 0" -> 1,
    "months_between(ts, TIMESTAMP '2025-01-01') < 0.7" -> 1,
    "from_utc_timestamp(ts, 'Asia/Tokyo') < TIMESTAMP '2025-02-01'" -> 1,
    "dayofmonth(ts) = 30" -> 0,
    "dayofmonth(dt) = 12" -> 12,
    "year(dt) = 2025 AND month(dt) = 3 AND dayofmonth(dt) = 25" -> 0,
    "make_date(year(dt), month(dt), 10) = DATE '2025-03-10'" -> 1,
    "concat(s, st.t.u) IS NULL" -> 1,
    "concat(s, '-', st.t.u) < 'b'" -> 1,
    "hour(ts) = 3" -> 12,
    "i % 7 = 3" -> 12,
    "coalesce(i, 0) > 1050" -> 1,
    "coalesce(i, 5000) > 1050" -> 1,
    "coalesce(i, 5) < 8" -> 2,
    "CASE WHEN i < 500 THEN 'low' ELSE 'high' END = 'low'" -> 5,
    "if(i < 500, 1, 2) = 2" -> 7,
    "CASE WHEN b THEN i ELSE 5000 END = 202" -> 1,
    "i + 1 IN (3, 708)" -> 2,
    "i + 1 NOT IN (3, 708)" -> 12,
    "i + 1 = 708 AND length(s) > 2" -> 1,
    "i + 1 = 708 AND d = sqrt(d * d)" -> 1,
    "i + 1 = 708 OR substring(s, 1, 1) = 'a'" -> 2,
    "i + 1 = 708 OR length(s) > 2" -> 12,
    "NOT (i + 1 < 1100)" -> 1,
    "(i + 1) IS NULL" -> 1,
    "(i + 1) <=> NULL" -> 1,
    "(i + 1) <=> 708" -> 1,
    "st.a + 1 = 708" -> 1,
    "coalesce(st.a, 5000) > 1050" -> 1,
    "substring(st.t.u, 1, 1) = 'c'" -> 1,
    "concat(st.t.u, '/', i) LIKE 'cu/2%'" -> 1,
    "concat(s, '-', j) >= 'l'" -> 1,
    "concat('p', s, j) < 'pb'" -> 1,
    "CAST(i AS STRING) = '707'" -> 1,
    "CAST(l AS STRING) IN ('7070', '50', 'x')" -> 2,
    "CAST(i AS STRING) > '2'" -> 12,
    "i > l" -> 1,
    "l <= i" -> 1,
    "NOT (i <= l)" -> 1,
    "i = l" -> 1,
    "i >= l OR i + 1 = 708" -> 2,
    "st.a > l" -> 1,
    "i > j" -> 12,
    "i <> j" -> 12,
    "hash(i) = 3" -> 12,
    "i % 100 = 3 AND i - 1 = 702" -> 1,
    "reverse(s) = 'x'" -> 12
  )

  for ((ansi, zone) <- Seq(true -> "America/Havana", false -> "Pacific/Apia"))
    test(s"files kept: ANSI $ansi, $zone") {
      withConf("spark.sql.ansi.enabled" -> ansi.toString, "spark.sql.session.timeZone" -> zone) {
        assert(wrong(table, cases).isEmpty)
      }
    }

  test("switched off: the same rows, every file, the plan of Spark's own conditions") {
    val text = s"SELECT * FROM $table WHERE i + 1 = 708"
    withConf("spark.sql.zonemap.expressions.enabled" -> "false")(assert(checked(text) == Seq(12L)))
    val off = spark.read.option("zonemap.expressions.enabled", "false").table(table).where("i + 1 = 708")
    assert(off.count() == 1 && kept(off) == Seq(12L))
    assert(checked(text) == Seq(1L))
  }

  private def relations(plan: LogicalPlan): Seq[DataSourceV2Relation] =
    plan.collectWithSubqueries { case r: DataSourceV2Relation => r }

  /** The plan as the rule receives it: a filter directly above the swapped relation. */
  private def filtered(condition: String): LogicalPlan = {
    val plan = runtime.swapRule(sql(s"SELECT * FROM $table WHERE $condition").queryExecution.analyzed)
    plan.collectFirst { case f: Filter => f }.get.transformUp {
      case v: org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias => v.child
    }
  }

  private def names(plan: LogicalPlan): Seq[String] =
    relations(plan).map(_.table.asInstanceOf[SparkTable].table().name())

  test("applied twice the rule gives the same plan object; the filter stays") {
    val plan = filtered("i + 1 = 708")
    val once = ExpressionRule(plan)
    assert(ExpressionRule(once) eq once)
    assert(once.isInstanceOf[Filter] && once.asInstanceOf[Filter].condition == plan.asInstanceOf[Filter].condition)
    assert(names(once) != names(plan) && relations(once).head.options.containsKey(ZoneMapRelation.ExpressionsMarker))
  }

  test("a plan with nothing to add is the same object: plain, random, subqueries, unknown functions, switched off") {
    for (condition <- Seq(
        "i = 708",
        "i > 3 AND s > 'a' OR dt IS NULL",
        "rand() < 0.5",
        s"i + 1 = (SELECT max(i) FROM $table)",
        "hash(i) = 1")) {
      val plan = filtered(condition)
      assert(ExpressionRule(plan) eq plan, condition)
    }
    val plan = filtered("i + 1 = 708")
    withConf("spark.sql.zonemap.expressions.enabled" -> "false")(assert(ExpressionRule(plan) eq plan))
  }

  test("names tell conditions apart by what they select, not by how they are written") {
    def name(condition: String) = names(ExpressionRule(filtered(condition))).head
    assert(name("i + 1 = 708") == name("708 = i + 1"))
    assert(name("i + 1 = 708") != name("i + 1 = 709"))
    assert(name("year(dt) = 2025") != name("year(dt) = 2026"))
    assert(name("i + 1 = 708").startsWith("lake.db.functions zonemap[") && !name("i + 1 = 708").contains("708"))
    def inZone(zone: String) = withConf("spark.sql.session.timeZone" -> zone)(name("year(ts) = 2025"))
    assert(inZone("UTC") != inZone("America/Havana"))
  }

  test("one query, several conditions on one table: scans are not mistaken for one another") {
    Seq(
      s"SELECT (SELECT count(*) FROM $table WHERE month(dt) = 1), (SELECT count(*) FROM $table WHERE month(dt) = 2)" -> Seq(
        1L,
        1L),
      s"SELECT (SELECT sum(i) FROM $table WHERE i + 1 < 100), (SELECT sum(i) FROM $table WHERE i + 1 < 500)" -> Seq(
        1L,
        5L),
      s"WITH t AS (SELECT * FROM $table) SELECT a.i, b.i FROM (SELECT * FROM t WHERE i + 1 = 3) a CROSS JOIN (SELECT * FROM t WHERE i + 1 = 708) b" -> Seq(
        1L,
        1L),
      s"SELECT i FROM $table WHERE i + 1 = 3 UNION ALL SELECT i FROM $table WHERE i + 1 = 708 UNION ALL SELECT i FROM $table WHERE i + 2 > 1100" -> Seq(
        1L,
        1L,
        1L),
      s"SELECT a.n, b.n FROM (SELECT count(*) n FROM $table WHERE quarter(dt) = 1) a CROSS JOIN (SELECT count(*) n FROM $table WHERE quarter(dt) = 2) b" -> Seq(
        3L,
        3L),
      s"SELECT * FROM $table a LEFT JOIN (SELECT * FROM $table WHERE i + 1 = 3) b ON a.i = b.i WHERE a.i + 1 IN (3, 708)" -> Seq(
        2L,
        1L)
    ).foreach { case (text, files) => assert(checked(text) == files, text) }
  }

  test("the same condition twice is read once") {
    val text =
      s"""SELECT a.k, a.c, b.c FROM (SELECT i % 3 k, count(*) c FROM $table WHERE i + 1 < 100 GROUP BY 1) a
         |JOIN (SELECT i % 3 k, count(*) c FROM $table WHERE i + 1 < 100 GROUP BY 1) b ON a.k = b.k""".stripMargin
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.adaptive.enabled" -> "false") {
      checked(text): Unit
      val plan = sql(text).queryExecution.executedPlan
      assert(collectWithSubqueries(plan) { case r: ReusedExchangeExec => r }.nonEmpty, plan)
    }
  }

  test("cached data of one condition does not answer another, and answers its own") {
    val cached = sql(s"SELECT * FROM $table WHERE i + 1 = 708").cache()
    try {
      assert(cached.count() == 1)
      assert(checked(s"SELECT * FROM $table WHERE i + 1 = 3") == Seq(1L))
      assert(checked(s"SELECT * FROM $table WHERE i + 1 IN (3, 708)") == Seq(2L))
      val again = sql(s"SELECT * FROM $table WHERE i + 1 = 708")
      assert(again.queryExecution.withCachedData.toString.contains("InMemoryRelation") && again.count() == 1)
    } finally cached.unpersist(blocking = true): Unit
  }

  test("NaN, zeros and overflow at the edges") {
    val t = "lake.db.edges"
    sql(s"DROP TABLE IF EXISTS $t")
    sql(s"CREATE TABLE $t (d DOUBLE, i INT, l BIGINT) USING iceberg")
    Seq(
      "DOUBLE('NaN'), 1, 1L",
      "-0.0D, 2147483647, 9223372036854775807L",
      "0.0D, -2147483648, -9223372036854775808L",
      "5D, 10, 10L")
      .foreach(values => sql(s"INSERT INTO $t VALUES ($values)"))
    build(t)
    Seq(
      "d + 1 > 100" -> 1,
      "d * -1 = 0" -> 2,
      "-d >= 0" -> 3,
      "floor(d) = 0" -> 3,
      "abs(d) < 1" -> 2,
      "d / 2 = DOUBLE('NaN')" -> 1,
      "d + 1 <> DOUBLE('NaN')" -> 3)
      .foreach { case (condition, files) =>
        assert(checked(s"SELECT * FROM $t WHERE $condition") == Seq(files.toLong), condition)
      }
    withConf("spark.sql.ansi.enabled" -> "false") {
      assert(checked(s"SELECT * FROM $t WHERE i + 1 < -5") == Seq(2L)) // int arithmetic wraps around
      assert(checked(s"SELECT * FROM $t WHERE i * -1 < 5") == Seq(4L))
      assert(checked(s"SELECT * FROM $t WHERE CAST(l AS INT) = -1") == Seq(2L))
    }
    withConf("spark.sql.ansi.enabled" -> "true") {
      Seq("i + 1 = 7", "-i = 7", "abs(i) = 7", "CAST(l AS INT) = 7", "l * 2 = 14").foreach { condition =>
        val error = intercept[Exception](sql(s"SELECT * FROM $t WHERE $condition").collect())
        assert(error.toString.contains("OVERFLOW"), condition)
      }
    }
  }

  test("local days at the turns of a zone: every day is found in its file") {
    val t = "lake.db.turns"
    for ((zone, first) <- Seq(
        "America/Havana" -> "2021-11-05",
        "America/Sao_Paulo" -> "2018-02-16",
        "Pacific/Apia" -> "2011-12-28",
        "Pacific/Apia" -> "1892-07-02"))
      withConf("spark.sql.session.timeZone" -> zone) {
        sql(s"DROP TABLE IF EXISTS $t")
        sql(s"CREATE TABLE $t (ts TIMESTAMP) USING iceberg")
        val start = s"unix_timestamp(TIMESTAMP '$first 00:00:00')"
        (0 until 12).foreach { k =>
          sql(
            s"INSERT INTO $t SELECT /*+ COALESCE(1) */ timestamp_seconds($start + ${k * 12} * 3600 + id * 1800) FROM RANGE(24)")
        }
        build(t)
        val days = (0 to 6).map(java.time.LocalDate.parse(first).plusDays(_))
        val files = days.map { day =>
          checked(s"SELECT * FROM $t WHERE to_date(ts) = DATE '$day'") ++
            checked(s"SELECT * FROM $t WHERE date_trunc('DAY', ts) = TIMESTAMP '$day 00:00:00'") ++
            checked(s"SELECT * FROM $t WHERE date_format(ts, 'yyyy-MM-dd HH') = '$day 00'")
        }
        // texts of dates before 1901 keep all files, because legacy formatters write other texts (S53)
        assert(files.exists(_.last < 12) == (first >= "1901"), s"$zone: $files")
        assert(files.flatMap(_.init).count(_ < 12) > 9, s"$zone: $files")
        assert(first < "1901" || files.flatten.count(_ < 12) > 14, s"$zone: $files")
      }
  }

  test("a renamed, promoted and re-added column, and time travel") {
    val t = "lake.db.evolved"
    sql(s"DROP TABLE IF EXISTS $t")
    sql(s"CREATE TABLE $t (a INT, b INT) USING iceberg")
    sql(s"INSERT INTO $t VALUES (1, 100)")
    sql(s"INSERT INTO $t VALUES (2, 200)")
    val old = sql(s"SELECT snapshot_id FROM $t.snapshots ORDER BY committed_at DESC").head().getLong(0)
    sql(s"ALTER TABLE $t RENAME COLUMN a TO c")
    sql(s"ALTER TABLE $t RENAME COLUMN b TO a")
    sql(s"ALTER TABLE $t ALTER COLUMN a TYPE BIGINT")
    sql(s"INSERT INTO $t VALUES (3, 5000000000)")
    build(t)
    assert(checked(s"SELECT * FROM $t WHERE a + 1 = 201") == Seq(1L))
    assert(checked(s"SELECT * FROM $t WHERE a - 1 > 4000000000") == Seq(1L))
    withConf("spark.sql.zonemap.upkeep.mode" -> "memory", "spark.sql.zonemap.coverOnRead" -> "wait") {
      val frame = sql(s"SELECT * FROM $t VERSION AS OF $old WHERE a + 1 = 2")
      assert(rows(frame) == Seq("[1,100]") && kept(frame) == Seq(1L))
    }
    sql(s"ALTER TABLE $t DROP COLUMN c")
    sql(s"ALTER TABLE $t ADD COLUMN c INT")
    sql(s"INSERT INTO $t VALUES (7, 8)")
    build(t)
    assert(checked(s"SELECT * FROM $t WHERE c + 1 = 9") == checked(s"SELECT * FROM $t WHERE c = 8"))
  }
}
