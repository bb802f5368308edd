// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import org.apache.spark.sql.functions.{col, udf}

import zonemap.iceberg.report.OperatorReason
import zonemap.insight.reason.ConditionReason
import zonemap.spark.SharedSession

/** Each condition and each operator above a scan is in the section: how it prunes, or a code for why it does not. */
class ConditionLinesTest extends SharedSession {

  private lazy val table: String = {
    val name = "lake.db.conditions"
    sql(s"DROP TABLE IF EXISTS $name")
    sql(s"""CREATE TABLE $name (id BIGINT, i INT, s STRING, ts TIMESTAMP, day DATE, p INT, tags ARRAY<INT>,
           |  bytes BINARY, hidden INT) USING iceberg PARTITIONED BY (p)
           |TBLPROPERTIES ('write.metadata.metrics.column.hidden' = 'none')""".stripMargin)
    (0 until 5).foreach { k =>
      sql(s"""INSERT INTO $name SELECT /*+ COALESCE(1) */ id, CAST(id AS INT), concat('k', id),
             |  timestamp_seconds(1767225600 + id * 86400), date_add(DATE'2026-01-01', CAST(id AS INT)), $k % 2,
             |  array(1), X'00', $k FROM RANGE(${k * 10}, ${k * 10 + 10})""".stripMargin)
    }
    build(name)
    name
  }

  private def section(text: String): String = runtime.explain(sql(text).queryExecution.executedPlan)

  private def lines(text: String, start: String): Seq[String] =
    section(text).linesIterator.map(_.trim).filter(_.startsWith(start)).toSeq

  private def conditions(where: String): Seq[String] =
    lines(s"SELECT id FROM $table WHERE $where", "condition ").filterNot(_.contains("IS NOT NULL)"))

  private val used: Seq[(String, String)] = Seq(
    "id = 33" -> "condition (id = 33L): used by bounds of id",
    "id IN (3, 4)" -> "condition (id IN (3L, 4L)): used by bounds of id",
    "p = 1" -> "condition p = 1: used by partitions, for all rows",
    "year(ts) = 2025" -> "condition (year(CAST(ts AS DATE)) = 2025): used as ts IN ",
    "id + 1 > 30" -> "condition ((id + 1L) > 30L): used as id IN [30, +inf) by bounds of id",
    "substring(s, 1, 2) = 'k3'" -> "condition (substring(s, 1, 2) = 'k3'): used as s IN ['k3', 'k4') by bounds of s",
    "p % 2 = 1" -> "condition ((p % 2) = 1): used on the bounds and values of p",
    "id + i < 10" -> "condition ((id + CAST(i AS BIGINT)) < 10L): used on the bounds and values of id and i",
    "id < i" -> "evaluated as id < i by bounds of id, bounds of i, kept all files",
    "id >= 0 AND id < 10" -> "condition (id >= 0L): evaluated by bounds of id, kept all files",
    "id >= 0 AND id < 10 " -> "condition (id < 10L): used by bounds of id",
    "p IN (0, 1)" -> "condition p IN (0, 1): evaluated by partitions, for all rows, kept all files",
    "p % 2 < 2" -> "condition ((p % 2) < 2): evaluated on the bounds and values of p, kept all files",
    "id <> 33" -> "condition (NOT (id = 33L)): evaluated by bounds of id, kept all files",
    "NOT (id IN (3, 4))" -> "condition (NOT (id IN (3L, 4L))): evaluated by bounds of id, kept all files",
    "NOT (s LIKE 'k3%')" -> "used by bounds of s"
  )

  test("conditions that prune, and by which means") {
    for ((where, expected) <- used)
      assert(
        conditions(where).exists(_.contains(expected)) &&
          (where.startsWith("p") || !conditions(where).exists(_.endsWith(": used by partitions, for all rows"))),
        s"$where\n${section(s"SELECT id FROM $table WHERE $where")}"
      )
  }

  private def unused: Seq[(String, ConditionReason)] = Seq(
    "plus_one(i) = 3 OR hash(id) = 1" -> ConditionReason.UserFunction("plus_one"),
    "plus_one(i) = 3" -> ConditionReason.UserFunction("plus_one"),
    "rand() < 0.5" -> ConditionReason.NotDeterministic,
    s"i = (SELECT max(i) FROM $table WHERE hash(id) = 1)" -> ConditionReason.Subquery,
    "s LIKE '%3'" -> ConditionReason.TextInside("s", "n-grams need 3 bytes in a row of the pattern"),
    "s LIKE '%a_b%cde'" -> ConditionReason.TextInside("s", "only n-grams of s could evaluate it"),
    "get_json_object(s, '$.a') LIKE '%xyz%'" -> ConditionReason
      .TextInside("get_json_object(s, '$.a')", "only n-grams of s could evaluate it"),
    "get_json_object(s, '$.a') LIKE '%xy%'" -> ConditionReason
      .TextInside("get_json_object(s, '$.a')", "n-grams need 3 bytes in a row of the pattern"),
    "s RLIKE '345$'" -> ConditionReason.TextInside("s", "only n-grams of s could evaluate it"),
    "s RLIKE '345|6'" -> ConditionReason.TextInside("s", "n-grams cannot evaluate this condition"),
    "s LIKE '%3%' OR id = 3" -> ConditionReason.TextInside("s", "n-grams cannot evaluate this condition"),
    "CAST(id AS STRING) LIKE '%345%'" ->
      ConditionReason.TextInside("CAST(id AS STRING)", "n-grams cannot evaluate this condition"),
    "CAST(s AS DATE) = DATE'2026-01-01'" -> ConditionReason.CastOf("CAST(s AS DATE)"),
    "_file LIKE 'x%'" -> ConditionReason.MetadataColumn("_file"),
    "array_contains(tags, 3)" -> ConditionReason.ColumnType("tags", "array"),
    "length(bytes) = 3" -> ConditionReason.ColumnType("bytes", "binary"),
    "hidden = 3" -> ConditionReason.NoBounds("hidden"),
    "hidden + 1 = 3" -> ConditionReason.NoBounds("hidden"),
    "pow(id, i) = 30" -> ConditionReason.Columns(Seq("id", "i")),
    "hash(id) = 1" -> ConditionReason.Function("hash(id)")
  )

  test("conditions that do not prune, each with its reason") {
    spark.udf.register("plus_one", (x: Int) => x + 1)
    for ((where, reason) <- unused) {
      val found = conditions(where)
      assert(found.exists(_.contains(s": not used, ${reason.code} (")), s"$where\n${found.mkString("\n")}")
    }
    val names = unused.collect { case (where, reason) if reason.code != "CONDITION_COLUMNS" => (where, reason.message) }
    for ((where, message) <- names if !message.contains("hash"))
      assert(conditions(where).exists(_.contains(message)), where)
    assert(conditions("bytes = X'01'").exists(_.contains("used by bounds of bytes")))
    assert(!conditions("length(bytes) = 3").exists(_.contains("has no bounds")))
  }

  test("texts with n-grams: bounds evaluate no part of a text, and n-grams need three bytes of it") {
    val name = "lake.db.texts"
    sql(s"DROP TABLE IF EXISTS $name")
    sql(s"CREATE TABLE $name (id BIGINT, s STRING) USING iceberg")
    (0 until 3).foreach(k => sql(s"INSERT INTO $name SELECT id, concat('key', 1${k}0 + id) FROM RANGE(0, 9)"))
    sql(s"CALL zonemap.system.build_index(table => '$name', facts => 'ngrams(s)')").collect()
    def of(where: String): Seq[String] = lines(s"SELECT id FROM $name WHERE $where", "condition ")
    def only(where: String): String = {
      val found = of(where).filterNot(_.contains(" IS NOT NULL"))
      assert(found.size == 1, where)
      found.head
    }
    assert(only("s LIKE '%y12%'").endsWith("by the fact ngrams(s)"))
    assert(only("s LIKE '%y12%' OR id = 3").endsWith("by the fact ngrams(s), bounds of id"))
    assert(only("s RLIKE 'y12'").endsWith(": used as s CONTAINS 'y12' by the fact ngrams(s)"))
    assert(only("instr(s, 'y12') > 0").endsWith(": used as s CONTAINS 'y12' by the fact ngrams(s)"))
    assert(only("upper(s) LIKE '%E12%'").endsWith(": used as s CONTAINS 'E12' IGNORING CASE by the fact ngrams(s)"))
    assert(only("s = 'key125'").endsWith(": used by bounds of s, the fact ngrams(s)"))
    assert(lines(s"SELECT id FROM $name WHERE s = 'key125'", "Spark adds") == Seq("Spark adds: s IS NOT NULL"))
    val checked = lines(s"SELECT id FROM $name WHERE s IS NOT NULL", "condition ")
    assert(checked == Seq("condition (s IS NOT NULL): evaluated by bounds of s, kept all files"), checked)
    for (where <- Seq("s LIKE '%07'", "s LIKE '%07' OR id = 3", "NOT (s LIKE '%y12%')", "s RLIKE '(?i)y12'")) {
      val found = only(where)
      assert(found.contains("not used, CONDITION_TEXT_INSIDE") && !found.contains("would prune"), found)
    }
    assert(lines(s"SELECT id FROM $name WHERE s = 'zzz'", "kept after evaluation") == Seq("kept after evaluation: 0"))
  }

  test("a condition that Spark made after it pushed filters to the scan") {
    val query = s"SELECT * FROM $table a WHERE a.i = (SELECT max(b.i) FROM $table b WHERE b.id = a.id)"
    assert(lines(query, "condition ").forall(!_.contains("IS NOT NULL")), section(query))
    assert(lines(query, "Spark adds: ").exists(_.contains("id IS NOT NULL")), section(query))
    val codes = sql(s"CALL zonemap.system.why_not(query => '$query')").select("code").collect().map(_.getString(0))
    assert(codes.contains("CONDITION_NOT_PUSHED") && !codes.contains("CONDITION_FUNCTION"), codes.toSeq)
  }

  test("a condition is printed as it was written, without the test for null that Spark adds to a function's call") {
    spark.udf.register("plus_one", (x: Int) => x + 1)
    assert(conditions("plus_one(i) = 3").exists(_.startsWith("condition (plus_one(i) = 3): not used")))
  }

  test("each condition of a filter has its line, beside others that prune") {
    spark.udf.register("plus_one", (x: Int) => x + 1)
    val found = conditions("id >= 10 AND plus_one(i) = 3 AND s LIKE '%3' AND p = 1 AND year(ts) = 2026")
    assert(found.size == 5, found)
    assert(found.count(_.contains("not used")) == 2)
  }

  test("a function without a name, a switched-off rule") {
    val nameless = udf((x: Int) => x + 1)
    val text = runtime.explain(spark.table(table).where(nameless(col("i")) === 3).queryExecution.executedPlan)
    assert(text.contains("not used, CONDITION_USER_FUNCTION (UDF "), text)
    withConf("spark.sql.zonemap.expressions.enabled" -> "false") {
      assert(conditions("year(ts) = 2025").exists(_.contains("CONDITION_SWITCHED_OFF")))
    }
  }

  test("a scan whose files are all answered lists its conditions too") {
    val found = lines(s"SELECT count(*) FROM $table WHERE id >= 30", "")
    assert(
      found.exists(_.startsWith("aggregates: 2 of 2 files")) && found.exists(_.startsWith("condition (id >= 30L)")))
  }

  private def operators: Seq[(String, String, OperatorReason)] = Seq(
    ("ORDER BY id + i LIMIT 3", "top-k bound", OperatorReason.TopKKey("(id + ")),
    ("ORDER BY tags LIMIT 3", "top-k bound", OperatorReason.TopKKey("tags")),
    ("ORDER BY hidden LIMIT 3", "top-k bound", OperatorReason.TopKNoBound("hidden")),
    ("WHERE hash(id) = 1 ORDER BY id LIMIT 3", "top-k bound", OperatorReason.TopKNoBound("id")),
    ("WHERE hash(id) = 1 LIMIT 3", "limit 3", OperatorReason.LimitNotProven),
    ("LIMIT 50", "limit 50", OperatorReason.LimitNotProven)
  )

  test("sorts with LIMIT, and LIMIT: used, or why not") {
    for ((tail, start, reason) <- operators) {
      val found = lines(s"SELECT * FROM $table $tail", start)
      assert(found.size == 1 && found.head.contains(s"not used, ${reason.code} ("), s"$tail\n$found")
    }
    assert(lines(s"SELECT * FROM $table ORDER BY id LIMIT 3", "top-k bound").forall(!_.contains("not used")))
    val limited = lines(s"SELECT * FROM $table LIMIT 3", "limit 3:")
    assert(limited.size == 1 && limited.head.matches("limit 3: 1 of 5 files, [0-9.]+ KB"), limited)
    val grouped = s"SELECT i, count(*) FROM $table GROUP BY i"
    assert(lines(s"$grouped LIMIT 3", "limit 3").exists(_.contains("LIMIT_BETWEEN (an aggregate is between")))
    assert(lines(s"$grouped ORDER BY i LIMIT 3", "top-k").exists(_.contains("TOPK_BETWEEN (an aggregate is between")))
    withConf("spark.sql.zonemap.topK.enabled" -> "false", "spark.sql.zonemap.limit.enabled" -> "false") {
      assert(lines(s"SELECT * FROM $table ORDER BY id LIMIT 3", "top-k").exists(_.contains("TOPK_OFF")))
      assert(lines(s"SELECT * FROM $table LIMIT 3", "limit 3").exists(_.contains("LIMIT_OFF")))
    }
    assert(lines(s"SELECT * FROM $table WHERE id = 3", "limit").isEmpty)
  }

  test("joins: why the keys do not prune") {
    def join(text: String): Seq[String] = lines(text, "join keys")
    val other = "(SELECT id AS k, CAST(id AS STRING) AS t FROM RANGE(0, 50))"
    assert(
      join(s"SELECT * FROM $table f LEFT JOIN $other o ON f.id = o.k").exists(
        _.contains("JOIN_TYPE (a join of type LEFT OUTER")))
    assert(
      join(s"SELECT * FROM $table f WHERE f.i = 3 OR EXISTS (SELECT 1 FROM $other o WHERE o.k = f.id)").exists(
        _.contains("JOIN_TYPE (a join of type EXISTENCE returns rows that match no row")))
    assert(join(s"SELECT * FROM $table f CROSS JOIN $other o").exists(_.contains("JOIN_CONDITION")))
    assert(join(s"SELECT * FROM $table f CROSS JOIN $other o WHERE f.id = o.k").forall(!_.contains("JOIN_TYPE")))
    val crossed = s"SELECT f.id FROM $table f CROSS JOIN (VALUES (12L), (14L)) AS v(k) WHERE f.id = v.k"
    assert(join(crossed).isEmpty && section(crossed).contains("join pruning on id: 5 -> 1 files"), section(crossed))
    assert(rows(sql(crossed)) == Seq("[12]", "[14]"))
    assert(rows(sql(s"SELECT f.id FROM $table f CROSS JOIN (VALUES (12L)) AS v(k)")).size == 50)
    assert(join(s"SELECT * FROM $table f JOIN $other o ON f.id + o.k < 9").exists(_.contains("JOIN_CONDITION")))
    val ranged = s"SELECT * FROM $table f JOIN $other o ON f.id < o.k"
    assert(join(ranged).isEmpty && section(ranged).contains("join pruning on the range of id: at run time"))
    assert(join(s"SELECT * FROM $table f JOIN $other o ON f.id % 7 = o.k").exists(_.contains("JOIN_CONDITION")))
    withConf("spark.sql.zonemap.join.static.enabled" -> "false", "spark.sql.zonemap.join.runtime.enabled" -> "false") {
      assert(join(s"SELECT * FROM $table f JOIN $other o ON f.id = o.k").exists(_.contains("JOIN_OFF")))
    }
    val pruned = s"SELECT f.id FROM $table f JOIN VALUES (12L), (14L) AS v(k) ON f.id = v.k"
    assert(join(pruned).isEmpty && section(pruned).contains("join pruning on id: 5 -> 1 files"))
  }

  private val few = "(SELECT CAST(id AS INT) AS k FROM RANGE(20, 22)) o"

  private def joins: Seq[(String, OperatorReason)] = {
    import OperatorReason._
    Seq(
      s"SELECT /*+ MERGE(o) */ * FROM $table f JOIN $few ON f.i = o.k" ->
        JoinNotBroadcast("i", "a hint selects another join"),
      s"SELECT f.id FROM $table f RIGHT JOIN $few ON f.i = o.k" -> JoinBroadcastSide("i"),
      s"SELECT /*+ BROADCAST(f) */ f.id FROM $table f JOIN $few ON f.i = o.k" -> JoinBroadcastSide("i"),
      s"SELECT f.m FROM (SELECT max(i) AS m, id FROM $table GROUP BY id) f JOIN $few ON f.m = o.k" ->
        JoinBetween("an aggregate"),
      s"SELECT f.i, f.m FROM (SELECT i, row_number() OVER (ORDER BY id) AS m FROM $table) f JOIN $few ON f.i = o.k" ->
        JoinBetween("a window"),
      s"SELECT f.i FROM (SELECT i FROM $table LIMIT 30) f JOIN $few ON f.i = o.k" -> JoinBetween("a LIMIT"),
      s"SELECT f.i FROM (SELECT * FROM $table WHERE rand() < 0.5) f JOIN $few ON f.i = o.k" ->
        JoinBetween("an expression that is not deterministic"),
      s"SELECT f.i FROM (SELECT a.* FROM RANGE(3) b LEFT JOIN $table a ON a.id = b.id) f JOIN $few " +
        s"ON coalesce(f.i, 20) = o.k" -> JoinBetween("a join of type LEFT OUTER"),
      s"SELECT f.id FROM $table f JOIN (SELECT id AS k FROM RANGE(20, 22)) o ON f.s = o.k" ->
        JoinKeyTypes("s", "STRING", "BIGINT"),
      s"SELECT f.id FROM $table f JOIN $few ON f.hidden = o.k" -> JoinNoBounds("hidden"),
      s"SELECT f.id FROM (SELECT id, i % 7 AS j FROM $table) f JOIN $few ON f.j = o.k" -> JoinCondition,
      s"SELECT f.id FROM $table f JOIN (SELECT /*+ BROADCAST */ id AS k FROM RANGE(0, 90000)) o ON f.id = o.k" ->
        JoinManyKeys("id", "up to 90000 rows"),
      s"SELECT f.id FROM $table f JOIN $few ON f.hidden = o.k WHERE f.id = 3" -> JoinOneFile,
      s"SELECT f.id FROM $table f WHERE f.id NOT IN (SELECT id FROM RANGE(3))" -> JoinType("a join of type LEFT ANTI")
    )
  }

  test("joins: each reason why keys do not prune at run time, by a query that causes it") {
    withConf("spark.sql.zonemap.join.static.enabled" -> "false") {
      val others = joins.filterNot { case (query, reason) =>
        lines(query, "join keys").contains(s"join keys: not used, ${reason.code} (${reason.message})")
      }
      assert(
        others.isEmpty,
        others.map { case (query, reason) => s"$reason: $query\n${section(query)}" }.mkString("\n"))
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "10") {
        val found = lines(s"SELECT f.id FROM $table f JOIN $few ON f.i = o.k", "join keys")
        assert(found.exists(_.matches(".*JOIN_NOT_BROADCAST .*: its size is about [0-9.]+ KB, and .* is 10\\)")), found)
      }
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "10") {
        val found = lines(s"SELECT f.id FROM $table f RIGHT JOIN $few ON f.i = o.k", "join keys")
        assert(found.exists(_.contains(": in a join of type RIGHT OUTER it broadcasts this side only)")), found)
      }
      val cross = s"SELECT f.id FROM $table f CROSS JOIN $few WHERE f.i = o.k"
      assert(section(cross).contains("join pruning on i: at run time"), section(cross))
      assert(rows(sql(cross)) == Seq("[20]", "[21]"))
    }
    withConf("spark.sql.zonemap.join.runtime.enabled" -> "false") {
      val found = lines(s"SELECT f.id FROM $table f JOIN (SELECT id FROM RANGE(50)) o ON f.id = o.id", "join keys")
      assert(found == Seq("join keys: not used, JOIN_OFF (spark.sql.zonemap.join.runtime.enabled is false)"), found)
    }
  }

  test("aggregates: why none is answered, once for each scan") {
    def aggregate(text: String): Seq[String] = lines(text, "aggregates:")
    def only(text: String, code: String) =
      assert(aggregate(text).size == 1 && aggregate(text).head.contains(code), s"$text\n${section(text)}")
    only(s"SELECT sum(i) FROM $table WHERE id >= 10", "AGGREGATE_FUNCTION")
    only(
      s"SELECT count(*) FROM $table f JOIN (SELECT id AS k FROM RANGE(50)) o ON f.id = o.k",
      "AGGREGATE_BETWEEN (a join is")
    only(s"SELECT count(*) FROM $table WHERE id >= 10 AND rand(7) < 0.999999", "AGGREGATE_NOT_SEPARATE")
    val ofDays = aggregate(s"SELECT date(ts), count(*) FROM $table GROUP BY date(ts)").mkString
    assert(ofDays.contains("AGGREGATE_SEVERAL_GROUPS") && ofDays.contains("in the time zone of the session"), ofDays)
    val ofSums = aggregate(s"SELECT id + 1, count(*) FROM $table GROUP BY id + 1").mkString
    assert(ofSums.contains("AGGREGATE_SEVERAL_GROUPS") && !ofSums.contains("time zone"), ofSums)
    withConf("spark.sql.zonemap.aggregates.enabled" -> "false")(
      only(s"SELECT count(*) FROM $table WHERE id >= 35", "AGGREGATE_OFF"))
  }

  test("codes are unique and have the prefix of their catalogue") {
    val codes = ConditionReason.catalogue.map(_._1)
    assert(codes.distinct == codes && codes.forall(_.startsWith("CONDITION_")))
    val operators = OperatorReason.catalogue.map(_._1)
    assert(operators.distinct == operators && operators.forall(_.matches("(TOPK|LIMIT|JOIN)_[A-Z_]+")))
  }
}
