// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.shadow

import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.Row

import zonemap.insight.StartedInsights
import zonemap.spark.SharedSession

/** `verify`: what it checks, that it finds a wrong index, and the mistakes that it refuses. */
class VerificationTest extends SharedSession {

  private def verify(arguments: String): Seq[Row] = sql(s"CALL zonemap.system.verify($arguments)").collect().toSeq

  private def ofQuery(query: String, more: String = ""): Seq[Row] =
    verify(s"query => '${query.replace("'", "''")}'$more")

  private def only(rows: Seq[Row], check: String): Row = {
    val found = rows.filter(_.getAs[String]("check") == check)
    assert(found.size == 1, rows)
    found.head
  }

  private def errorOf(arguments: String): String = {
    val error = intercept[Exception](verify(arguments))
    Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.getMessage).mkString(" | ")
  }

  private lazy val table: String = {
    val name = newTable("verified", partitioned = true)
    build(name)
    name
  }

  private val queries = Seq(
    ("id = 33", 1L, 4),
    ("id + 1 > 30", 20L, 3),
    ("p = 1 AND id < 20", 10L, 4),
    ("s LIKE '2%' OR id = 3", 12L, 3),
    ("id > 1000", 0L, 5),
    ("id >= 0", 50L, 0)
  )

  for ((where, matching, pruned) <- queries)
    test(s"a right index: $where") {
      val rows = ofQuery(s"SELECT * FROM $table WHERE $where")
      assert(rows.map(_.getAs[String]("check")) == Seq("pruned files", "rows", "tasks"), rows)
      assert(rows.forall(_.getAs[String]("verdict") == "equal"), rows)
      val (files, read, tasks) = (only(rows, "pruned files"), only(rows, "rows"), only(rows, "tasks"))
      assert(files.getAs[Long]("with_index") == 0 && files.getAs[Long]("without_index") == pruned, files)
      assert(read.getAs[Long]("with_index") == matching && read.getAs[Long]("without_index") == matching, read)
      assert(tasks.getAs[Long]("with_index") == 5 - pruned && tasks.getAs[Long]("without_index") == 5, tasks)
    }

  test("its queries are not planned scans of the driver, and advice does not observe them") {
    val t = newTable("verified_unseen")
    build(t)
    val observations = StartedInsights.of(runtime.parts).observations
    val before = observations.newest.headOption
    assert(ofQuery(s"SELECT * FROM $t WHERE id = 33").nonEmpty && verify(s"table => '$t'").nonEmpty)
    assert(sql(s"CALL zonemap.system.planned_scans(table => '$t')").isEmpty && observations.newest.headOption == before)
    sql(s"SELECT * FROM $t WHERE id = 33").collect()
    assert(sql(s"CALL zonemap.system.planned_scans(table => '$t')").count() == 1)
    assert(observations.newest.headOption != before)
  }

  test("the most pruned files that are read") {
    val row = only(ofQuery(s"SELECT * FROM $table WHERE id = 33", ", max_files => 2"), "pruned files")
    assert(
      row.getAs[Long]("without_index") == 2 && row.getAs[String]("detail") == "0 rows match in 2 of 4 pruned files")
  }

  test("each scan is checked; first rows, random rows and tables without an index are not, with the reason") {
    val union = ofQuery(s"SELECT id FROM $table WHERE id = 3 UNION ALL SELECT id FROM $table WHERE s = '44'")
    assert(union.count(_.getAs[String]("check") == "pruned files") == 2, union)
    assert(union.forall(_.getAs[String]("verdict") == "equal"), union)
    val first = only(ofQuery(s"SELECT id FROM $table ORDER BY id LIMIT 3"), "pruned files")
    assert(first.getAs[String]("verdict") == "not checked", first)
    assert(first.getAs[String]("detail").contains("top-k bound or LIMIT"), first)
    val random = only(ofQuery(s"SELECT id FROM $table WHERE id < 20 AND rand() < 0.5"), "rows")
    assert(random.getAs[String]("verdict") == "not checked", random)
    withConf("spark.sql.zonemap.enabled" -> "false") {
      val off = ofQuery(s"SELECT id FROM $table WHERE id = 3")
      assert(off.forall(_.getAs[String]("verdict") == "not checked"), off)
    }
    assert(ofQuery("SELECT 1").map(_.getAs[String]("verdict")) == Seq("not checked"))
  }

  test("a table: a query for each of its first columns") {
    val rows = verify(s"table => '$table', max_columns => 2")
    assert(rows.map(_.getAs[String]("query")).distinct.size == 2 && rows.size == 6, rows)
    assert(rows.head.getAs[String]("query").startsWith(s"SELECT * FROM $table WHERE id = "), rows.head)
    assert(rows.forall(_.getAs[String]("verdict") == "equal"), rows)
  }

  test("the queries of a table run as they are printed, for dates, times, decimals and texts with quotes") {
    val name = "lake.db.verified_types"
    sql(s"DROP TABLE IF EXISTS $name")
    sql(
      s"CREATE TABLE $name USING iceberg AS SELECT id AS `odd name`, DATE'2026-03-05' AS d, " +
        "TIMESTAMP'2026-03-04 23:33:20.000123' AS ts, TIMESTAMP_NTZ'2026-03-04 23:33:20' AS tn, " +
        "CAST(1.50 AS DECIMAL(9, 2)) AS m, CAST(0.5 AS FLOAT) AS f, true AS b, concat(char(39), char(92), 'x') AS s " +
        "FROM RANGE(0, 1, 1, 1)")
    build(name)
    for (conf <- Seq("false", "true"))
      withConf("spark.sql.parser.escapedStringLiterals" -> conf, "spark.sql.session.timeZone" -> "Asia/Tokyo") {
        val queries = verify(s"table => '$name', max_columns => 20").map(_.getAs[String]("query")).distinct
        assert(queries.size == 8, queries)
        queries.foreach(query => assert(sql(query).count() == 1, query))
      }
  }

  test("a wrong index is found by the pruned files and by the rows, and the table is put into quarantine") {
    val wrong = newTable("verified_wrong")
    build(wrong)
    assert(planned(sql(s"SELECT * FROM $wrong").collect()) == 1)
    WrongIndex.put(Spark3Util.loadIcebergTable(spark, wrong), moved = 1000)
    val rows = ofQuery(s"SELECT * FROM $wrong WHERE id = 33")
    val files = only(rows, "pruned files")
    assert(files.getAs[String]("verdict") == "different" && files.getAs[Long]("with_index") == 1, files)
    val read = only(rows, "rows")
    assert(read.getAs[String]("verdict") == "different" && read.getAs[Long]("with_index") == 0, read)
    assert(only(rows, "tasks").getAs[String]("detail").contains("QUARANTINED"), rows)
    build(wrong)
    assert(ofQuery(s"SELECT * FROM $wrong WHERE id = 33").forall(_.getAs[String]("verdict") == "equal"))
  }

  test("mistakes") {
    val fresh = newTable("verified_fresh")
    val cases = Seq(
      "" -> "Cannot verify nothing: the call names neither a query nor a table.",
      s"table => '$table', query => 'SELECT 1'" -> s"Cannot verify table '$table' and a query: ",
      "table => 'lake.db.nope'" -> "Cannot verify 'lake.db.nope': ",
      s"table => '$fresh'" -> s"CALL zonemap.system.build_index(table => '$fresh') indexes it.",
      s"table => '$table', max_columns => 0" -> "max_columns is 0",
      "query => 'DROP TABLE x'" -> "Cannot verify 'DROP TABLE x': it is not a SELECT.",
      "query => 'SELECT 1', max_files => -1" -> "'max_files'"
    )
    for ((arguments, message) <- cases) assert(errorOf(arguments).contains(message), errorOf(arguments))
  }
}
