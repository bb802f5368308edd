// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.sql.Row
import org.apache.spark.sql.functions.udf

import zonemap.iceberg.report.{AggregateReason, OperatorReason, StockReason, SwapReason}
import zonemap.insight.reason.{ConditionEffect, ConditionReason, ReasonExample, ReasonExamples, Remedies}
import zonemap.spark.SharedSession

/** `CALL zonemap.system.why_not`: its rows, each code, its estimates, and the mistakes that it refuses. */
class WhyNotTest extends SharedSession {

  private def whyNot(query: String): Seq[Row] =
    sql(s"CALL zonemap.system.why_not(query => '${query.replace("'", "''")}')").collect().toSeq

  private def errorOf(query: String): String = {
    val error = intercept[Exception](whyNot(query))
    Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.getMessage).mkString(" | ")
  }

  private def text(row: Row, column: String): String = row.getAs[String](column)
  private def count(row: Row, column: String): Long = row.getAs[Long](column)

  private lazy val made: Unit = {
    Seq("examples", "late_bounds", "chosen", "no_rows", "no_index", "behind", "version_4").foreach(t =>
      sql(s"DROP TABLE IF EXISTS lake.db.$t"))
    ReasonExamples.setup.foreach(sql(_).collect())
  }

  private def withConfsOf[A](example: ReasonExample)(work: => A): A =
    withConf(example.confs.map { case (key, value) => s"spark.sql.zonemap.$key" -> value }: _*)(work)

  test("each example of the reference page has its code, with a sentence and a remedy") {
    made
    for (example <- ReasonExamples.examples if !example.isExplain)
      withConfsOf(example) {
        val rows = whyNot(example.query)
        val found = rows.filter(text(_, "code") == example.code)
        assert(found.nonEmpty, s"${example.code}: ${example.query}\n${rows.mkString("\n")}")
        assert(text(found.head, "message").nonEmpty && text(found.head, "remedy").nonEmpty, found)
        assert(!text(found.head, "remedy").contains("{"), found)
      }
  }

  test("each EXPLAIN of the reference page shows its code") {
    made
    val explains = ReasonExamples.examples.filter(_.isExplain)
    assert(explains.nonEmpty)
    for (example <- explains)
      withConfsOf(example) {
        val shown = sql(example.query).collect().map(_.getString(0)).mkString("\n")
        assert(shown.contains(s"reason: ${example.code} ("), shown)
      }
  }

  test("each code has an example or a state that causes it, and a remedy") {
    val codes = (StockReason.catalogue ++ SwapReason.catalogue ++ ConditionReason.catalogue ++
      ConditionEffect.catalogue ++ OperatorReason.catalogue ++ AggregateReason.catalogue).map(_._1).toSet + "NO_SCAN"
    assert((ReasonExamples.examples.map(_.code) ++ ReasonExamples.states.keys).toSet == codes)
    assert(ReasonExamples.examples.map(_.code).toSet.intersect(ReasonExamples.states.keySet).isEmpty)
    assert(Remedies.codes == codes)
  }

  private val filters = Seq(
    "id = 33",
    "id >= 20 AND id <= 40",
    "mixed = 40 AND id < 40",
    "p = 1 AND mixed < 20",
    "year(ts) = 2026 AND id > 60",
    "id IN (3, 77) AND hash(id) = 1",
    "id = -1",
    "p = 1 OR id = 3",
    "s LIKE 'k3%' AND id + 1 > 30"
  )

  test("files before and after each condition lead from all files to those that the plan keeps") {
    made
    for (filter <- filters) {
      val rows = whyNot(s"SELECT id FROM lake.db.examples WHERE $filter")
      val (scan, conditions) = (rows.head, rows.filter(text(_, "part") == "condition"))
      assert(text(scan, "part") == "scan" && count(scan, "files_before") == 8, filter)
      assert(conditions.nonEmpty && count(conditions.head, "files_before") == 8, filter)
      assert(
        conditions.map(count(_, "files_after")) ==
          conditions.tail.map(count(_, "files_before")) :+ count(scan, "files_after"),
        s"$filter\n${rows.mkString("\n")}")
      assert(conditions.forall(c => count(c, "files_alone") >= count(c, "files_after")), filter)
    }
  }

  test("an overlap: the numbers, and what a sort and the smallest fact would keep") {
    made
    val row = whyNot("SELECT * FROM lake.db.examples WHERE mixed = 40").find(text(_, "code") == "CONDITION_OVERLAP").get
    assert(text(row, "message").matches("\\d of 8 files kept: values of `mixed` overlap in 100 % of the files .*"), row)
    assert(text(row, "decided_by") == "bounds of mixed" && text(row, "became") == "mixed = 40", row)
    assert(row.getAs[Map[String, String]]("arguments").get("column").contains("mixed"), row)
    val remedy = text(row, "remedy")
    // of a few keys a file, an index of keys takes less than bloom filters, whose blocks have 32 bytes
    assert(remedy.contains("Sorting by `mixed` would keep about 2 files") && remedy.contains("keys(mixed)"), remedy)
  }

  test("a bloom filter takes about the size that is named, and is not advised where there is one") {
    val table = "lake.db.bloom_sizes"
    sql(s"DROP TABLE IF EXISTS $table")
    sql(
      s"CREATE TABLE $table USING iceberg TBLPROPERTIES ('write.distribution-mode' = 'none') AS " +
        "SELECT id * 7919 % 4000 AS k FROM RANGE(0, 4000, 1, 5)")
    build(table)
    def remedy = whyNot(s"SELECT * FROM $table WHERE k = 30").map(text(_, "remedy")).mkString
    val expected = "it takes about ([\\d.]+) KB".r.findFirstMatchIn(remedy).map(_.group(1).toDouble * 1000).get
    val built = sql(s"CALL zonemap.system.build_index(table => '$table', facts => 'bloom(k)')").collect()
    val bytes = built.find(text(_, "part") == "bloom(k)").map(count(_, "bytes")).get
    assert(Math.abs(expected - bytes) <= 0.2 * bytes, s"$bytes bytes, expected $expected")
    assert(!remedy.contains("bloom"), remedy)
  }

  test("the remedies of columns without bounds run as they are printed, and then the conditions prune") {
    made
    val table = "lake.db.two_hidden"
    sql(s"DROP TABLE IF EXISTS $table")
    sql(
      s"CREATE TABLE $table (id BIGINT, `a b` BIGINT, c BIGINT) USING iceberg TBLPROPERTIES " +
        "('write.metadata.metrics.default' = 'none', 'write.distribution-mode' = 'none')")
    sql(s"INSERT INTO $table SELECT id, id, id FROM RANGE(0, 40, 1, 5)")
    build(table)
    val cases = Seq(
      s"SELECT * FROM $table WHERE `a b` = 3 OR c = 37" -> (5L -> 2L),
      "SELECT * FROM lake.db.chosen WHERE c = 3" -> (5L -> 1L)
    )
    for ((query, (before, after)) <- cases) {
      val rows = whyNot(query)
      assert(count(rows.head, "files_after") == before, rows)
      "CALL zonemap.*?\\)(?=[,.] ?)".r.findFirstIn(rows.map(text(_, "remedy")).mkString).foreach(sql(_).collect())
      assert(count(whyNot(query).head, "files_after") == after, whyNot(query))
    }
  }

  test("both ends of a range count together: neither is said to keep most files") {
    made
    val rows = whyNot("SELECT id FROM lake.db.examples WHERE id >= 20 AND id <= 25")
    val codes = rows.filter(row => Seq("(id >= 20L)", "(id <= 25L)").contains(text(row, "text"))).map(text(_, "code"))
    assert(codes == Seq("CONDITION_PRUNES", "CONDITION_PRUNES"), rows)
  }

  test("the query is not executed") {
    made
    val calls = new AtomicInteger
    spark.udf.register("counted", udf { (x: Long) => calls.incrementAndGet(); x > 3 })
    val rows = whyNot("SELECT id FROM lake.db.examples WHERE counted(id)")
    assert(rows.exists(text(_, "code") == "CONDITION_USER_FUNCTION"), rows)
    assert(calls.get == 0)
  }

  test("conditions by the hundred have a row each, and those on one column the effect of all of them") {
    made
    val conditions = (0 until 300).map(i => s"id <> $i").mkString(" AND ")
    val rows = whyNot(s"SELECT id FROM lake.db.examples WHERE $conditions AND id < 9000").drop(1)
    val (notNull, others) = rows.partition(text(_, "code") == "CONDITION_NOT_NULL")
    assert(notNull.size == 1 && others.size == 301, rows.size)
    assert(others.map(text(_, "message")).distinct.size == 1, others.head)
  }

  test("each scan of a query has a number, in joins, unions and subqueries") {
    made
    val rows = whyNot(
      "SELECT id FROM lake.db.examples WHERE id = 3 UNION ALL SELECT id FROM lake.db.late_bounds WHERE id = " +
        "(SELECT max(i) FROM lake.db.examples WHERE s = 'k7')")
    assert(rows.filter(text(_, "part") == "scan").map(_.getAs[Int]("scan")) == Seq(1, 2, 3), rows)
    assert(rows.map(text(_, "table")).toSet == Set("lake.db.examples", "lake.db.late_bounds"))
  }

  private val mistakes = Seq(
    "" -> "it is empty. Give the text of a SELECT.",
    "SELEC 1" -> "Give the text of one SELECT.",
    "SELECT 1; SELECT 2" -> "it holds several statements. Give one SELECT.",
    "DELETE FROM lake.db.examples WHERE id = 3" -> "it is not a SELECT. Give a query; EXPLAIN describes",
    "INSERT INTO lake.db.no_rows SELECT 1" -> "it is not a SELECT.",
    "WITH x AS (SELECT 1 AS id) INSERT INTO lake.db.no_rows SELECT id FROM x" -> "it is not a SELECT.",
    "SHOW TABLES" -> "it is not a SELECT.",
    "EXECUTE IMMEDIATE 'INSERT INTO lake.db.no_rows SELECT 1'" -> "it is not a SELECT.",
    "CALL zonemap.system.build_index('lake.db.examples')" -> "it is not a SELECT.",
    "SELECT * FROM lake.db.nope" -> "Correct the query, and name tables as catalog.namespace.table.",
    "SELECT nope FROM lake.db.examples" -> "`nope`",
    "SELECT * FROM lake.db.examples WHERE id = :id" -> "Write the values of its parameters into the text.",
    "SELECT * FROM STREAM lake.db.examples" -> "it reads a stream, whose files are planned batch by batch. Give a query of"
  )

  for ((query, message) <- mistakes)
    test(s"a mistake: '$query'") {
      made
      val error = errorOf(query)
      assert(error.contains(s"Cannot explain '$query': ") && error.contains(message), error)
    }

  test("a view, a trailing semicolon and a semicolon in a text are not mistakes") {
    made
    sql("CREATE OR REPLACE TEMP VIEW why_not_view AS SELECT id, s FROM lake.db.examples WHERE id > 50")
    assert(whyNot("SELECT * FROM why_not_view WHERE s = 'a;b';").exists(text(_, "table") == "lake.db.examples"))
  }

  test("a column with a name that SQL quotes has a remedy, and a long text of a condition is cut") {
    sql("DROP TABLE IF EXISTS lake.db.why_not_names")
    sql("CREATE TABLE lake.db.why_not_names USING iceberg AS SELECT concat('text ', id) AS `a b` FROM range(10)")
    sql("CALL zonemap.system.build_index('lake.db.why_not_names')").collect()
    val inside = whyNot("SELECT * FROM lake.db.why_not_names WHERE `a b` LIKE '%ext 3%'")
    val remedy = text(inside.find(text(_, "code") == "CONDITION_TEXT_INSIDE").get, "remedy")
    assert(!remedy.contains("CALL") && remedy.contains("keep clearly fewer files"), remedy)
    val long = whyNot(s"SELECT * FROM lake.db.why_not_names WHERE `a b` = '${"x" * 100000}'")
    assert(long.forall(_.mkString.length < 2000), long.map(_.mkString.length))
  }

  test("columns that differ in case have conditions of their own, if names are case-sensitive") {
    sql("DROP TABLE IF EXISTS lake.db.why_not_case")
    withConf("spark.sql.caseSensitive" -> "true", "spark.sql.shuffle.partitions" -> "1") {
      sql(
        "CREATE TABLE lake.db.why_not_case USING iceberg TBLPROPERTIES ('write.distribution-mode' = 'none') AS " +
          "SELECT id AS a, 9 - id AS A FROM range(0, 10, 1, 5)")
      sql("CALL zonemap.system.build_index('lake.db.why_not_case')").collect()
      val rows = whyNot("SELECT * FROM lake.db.why_not_case WHERE A = 1 AND a > 2")
      val used = rows.filter(text(_, "part") == "condition").map(text(_, "decided_by"))
      assert(used.toSet == Set("bounds of a", "bounds of A"), rows.mkString("\n"))
    }
  }
}
