// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import org.apache.spark.sql.Row
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}

import zonemap.core.predicate.{And, Evaluated, Predicate, RowCondition}
import zonemap.spark.expression.CatalystCondition

/** `CALL zonemap.system.advise`: sorts by one column, facts, columns, metrics, and what cannot help. */
class AdviseTest extends AdviceCalls {
  private val files = 16

  private val columns =
    """id, pmod(id * 7919, 3200) AS mixed, concat('ref-', pmod(hash(id), 100000)) AS ref,
      |  concat('k', id DIV 800) AS few, CAST(pmod(id, 4) AS INT) AS p""".stripMargin

  /** A table of 16 files; ranges of `id` are in one file each, values of `mixed` and `ref` are in any file. */
  private def create(name: String, query: String = s"SELECT $columns FROM RANGE(0, 3200, 1, $files)"): String =
    createTable(s"lake.db.$name", query, Some(8192))

  private lazy val table: String = create("advised")

  test("no long list or long value of a condition is retained") {
    def observed(condition: String): Seq[ObservedScan] =
      ScanObservation.of(sql(s"SELECT * FROM $table WHERE $condition").queryExecution.optimizedPlan)
    val long = Seq(
      s"id IN (${(0 until 1001).mkString(", ")}) AND few = 'k1'",
      s"id IN (${(0 until 600).mkString(", ")}) AND few IN (${(0 until 600).map(i => s"'$i'").mkString(", ")})",
      s"ref = '${"x" * 20000}'"
    )
    // without its conditions, a scan would count as one that keeps all files
    long.foreach(condition => assert(observed(condition).isEmpty, condition.take(40)))
    assert(observed("id IN (1, 2, 3) AND few = 'k1'").exists(_.conditions.size >= 2))
  }

  test("an observed condition retains no confs of its session, and evaluates under the same time zone") {
    val seen = ScanObservation.of(sql(s"SELECT * FROM $table WHERE hash(id) = 1").queryExecution.optimizedPlan)
    def evaluated(predicate: Predicate): Seq[RowCondition] =
      predicate match {
        case And(children)           => children.flatMap(evaluated)
        case Evaluated(_, condition) => Seq(condition)
        case _                       => Nil
      }
    val conditions = seen.flatMap(_.conditions).flatMap { found =>
      evaluated(found.condition.filter) ++ evaluated(found.condition.derived)
    }
    val confs = conditions.collect { case c: CatalystCondition => c.conf }
    val ofSession = spark.asInstanceOf[ClassicSession].sessionState.conf
    assert(confs.nonEmpty && confs.forall(_ ne ofSession), conditions)
    assert(confs.forall(_.sessionLocalTimeZone == ofSession.sessionLocalTimeZone))
    assert(confs.forall(_.getAllConfs.size <= 3))
  }

  test("the advised sort keeps about the estimated files after the statement ran") {
    val sorted = create("advised_sort")
    val queries =
      Seq("mixed = 3000", "mixed BETWEEN 1000 AND 1399", "mixed > 2500").map(c => s"SELECT * FROM $sorted WHERE $c")
    val rows = advise(sorted, queries: _*)
    val row = only(rows, "sort")
    assert(text(row, "subject") == "mixed" && count(row, "scans") == 3, row)
    assert(count(row, "files_before") == queries.map(keptFiles).sum, row)
    assert(count(row, "bytes_before") > 2 * count(row, "bytes_after"), row)
    assert(count(row, "files_read") == files && count(row, "rows_read") == 3200, row)
    assert(text(row, "message").contains("would keep about "), row)
    sql(text(row, "statement")).collect()
    build(sorted)
    assertClose(row, queries.map(keptFiles).sum, 3)
    val after = only(advise(sorted, queries: _*), "no help", _ == "sort order")
    assert(text(after, "message").startsWith("no sort by one column keeps clearly fewer than the "), after)
  }

  test("a sort counts the scans by other columns, which it would make slower") {
    val (ofId, ofMixed) = (s"SELECT * FROM $table WHERE id = 1000", s"SELECT * FROM $table WHERE mixed < 200")
    val sort = only(advise(table, ofId +: Seq.fill(4)(ofMixed): _*), "sort")
    assert(count(sort, "files_before") == 4 * files + 1, sort)
    assert(text(sort, "message").contains("; 1 scan of them by other columns would keep about 16 instead of 1;"), sort)
    val none = only(advise(table, ofMixed +: Seq.fill(4)(ofId): _*), "no help", _ == "sort order")
    assert(text(none, "message").contains("the best, by `id`, would keep about 20 files"), none)
  }

  test("the advised fact keeps about the estimated files and takes the expected bytes") {
    val built = create("advised_fact")
    val values = sql(s"SELECT ref FROM $built WHERE id IN (7, 1111, 2222, 3003)").collect().map(_.getString(0)).sorted
    val queries = values.map(v => s"SELECT * FROM $built WHERE ref = '$v'").toSeq
    val row = only(advise(built, queries: _*), "fact")
    assert(text(row, "subject") == "bloom(ref)" && count(row, "scans") == 4, row)
    assert(count(row, "files_before") == queries.map(keptFiles).sum && count(row, "files_before") > 32, row)
    assert(count(row, "files_read") == files && count(row, "rows_read") == 3200, row)
    val fact = sql(text(row, "statement")).collect().find(text(_, "part") == "bloom(ref)").get
    val (expected, real) = (count(row, "expected_bytes"), count(fact, "bytes"))
    assert(Math.abs(expected - real) <= 0.2 * real, s"expected $expected, really $real")
    assertClose(row, queries.map(keptFiles).sum, 4)
  }

  test("keys for random keys of many files, and no fact where bounds suffice") {
    val many = 600
    val users = createTable(
      "lake.db.advised_keys",
      s"SELECT id, concat('u', sha1(CAST(id AS STRING))) AS user_id FROM RANGE(0, ${many * 20}, 1, $many)",
      None)
    // of four keys that no file holds, a bloom filter keeps six files each
    val absent = (0 until 4).map(i => s"SELECT * FROM $users WHERE user_id = 'u8${"5" * i}'")
    val row = only(advise(users, absent: _*), "fact")
    assert(text(row, "subject") == "keys(user_id)" && count(row, "files_before") == 4 * many, row)
    assert(text(row, "statement").contains("keys(user_id)"), row)
    val ordered = advise(users, (0 until 4).map(i => s"SELECT * FROM $users WHERE id = ${i * 1000 + 7}"): _*)
    assert(!ordered.exists(text(_, "advice") == "fact"), ordered.mkString("\n"))
  }

  test("facts that are advised together fit into the share that all facts may take") {
    val both = createTable(
      "lake.db.advised_together",
      "SELECT concat('r', pmod(hash(id, 1), 1000000)) AS a, concat('r', pmod(hash(id, 2), 1000000)) AS b " +
        "FROM RANGE(0, 160000, 1, 8)",
      None
    )
    val rows = advise(both, Seq("a", "b").map(c => s"SELECT * FROM $both WHERE $c = 'r5'"): _*)
    val refused = rows.filter(text(_, "message").contains(" of other facts, and all facts may take "))
    assert(refused.map(text(_, "advice")) == Seq("no help"), rows.mkString("\n"))
    sql(text(only(rows, "fact"), "statement")).collect()
  }

  test("facts for texts within a column, for functions of a column and for a few values") {
    val rows = advise(
      table,
      s"SELECT * FROM $table WHERE ref LIKE '%-4321%'",
      s"SELECT * FROM $table WHERE hash(p) = 1",
      s"SELECT * FROM $table WHERE mixed IN (17, 1900)")
    val facts = rows.filter(text(_, "advice") == "fact").map(text(_, "subject")).toSet
    assert(facts == Set("ngrams(ref)", "values(p)", "bloom(mixed)"), rows.mkString("\n"))
    assert(!rows.exists(text(_, "message").startsWith("CONDITION_")), rows.mkString("\n"))
  }

  test("what no sort and no fact can help, with the reason") {
    val rows = advise(
      table,
      s"SELECT * FROM $table WHERE rand() < 0.5",
      s"SELECT * FROM $table WHERE p = 1",
      s"SELECT * FROM $table ORDER BY id + mixed LIMIT 3",
      s"SELECT * FROM $table t LEFT JOIN (SELECT id AS k FROM RANGE(9)) ON t.id = k"
    )
    def message(subject: String => Boolean) = text(only(rows, "no help", subject), "message")
    assert(message(_.contains("rand")).startsWith("CONDITION_NOT_DETERMINISTIC: "))
    assert(message(_ == "p").startsWith("no fact keeps clearly fewer files: "))
    assert(message(_.startsWith("ORDER BY")).startsWith("TOPK_KEY: "))
    assert(message(_.contains("LEFT OUTER")).startsWith("JOIN_TYPE: "))
    assert(rows.filter(text(_, "advice") == "no help").forall(text(_, "statement").isEmpty))
  }

  test("first rows and join keys ask for a sort by their column") {
    val top = only(advise(table, s"SELECT * FROM $table ORDER BY mixed DESC LIMIT 5"), "sort")
    assert(text(top, "subject") == "mixed" && count(top, "files_after") == 1, top)
    val join =
      s"SELECT /*+ MERGE(o) */ * FROM $table t JOIN (SELECT id AS k FROM RANGE(9) WHERE id > 3) o ON t.mixed = o.k"
    assert(text(only(advise(table, join), "sort"), "subject") == "mixed")
  }

  test("scans that ran are observed, each once, and those of other tables are not counted") {
    val observed = create("advised_observed")
    assert(errorOf(observed).contains("this driver has planned no scan of it that can be observed"))
    sql(s"SELECT count(ref) FROM $observed WHERE mixed = 7").collect()
    sql(s"SELECT ref FROM $observed WHERE mixed = 7").collect()
    sql(s"SELECT * FROM $observed WHERE id = (SELECT max(id) FROM $observed WHERE mixed = 9)").collect()
    sql(s"SELECT ref FROM $table WHERE mixed = 7").collect()
    val sort = only(advise(observed), "sort")
    assert(text(sort, "subject") == "mixed" && count(sort, "scans") == 4, sort)
  }

  test("a long list in a query that the call names counts like a short one") {
    val query = s"SELECT * FROM $table WHERE id IN (${(0 until 600).mkString(", ")})"
    val row = only(advise(table, query), "no help", _ == "sort order")
    assert(count(row, "files_before") == keptFiles(query) && keptFiles(query) < files, row)
  }

  test("scans of columns that the table no longer has under this name, or of a former table, are not counted") {
    val changed = create("advised_changed")
    sql(s"SELECT id FROM $changed WHERE mixed = 7").collect()
    sql(s"ALTER TABLE $changed RENAME COLUMN mixed TO blended")
    assert(errorOf(changed).contains("on the columns that it has now"))
    sql(s"SELECT id FROM $changed WHERE blended = 7").collect()
    val sort = only(advise(changed), "sort")
    assert(text(sort, "subject") == "blended" && count(sort, "scans") == 1, sort)
    create("advised_changed", s"SELECT $columns, id AS blended FROM RANGE(0, 320, 1, $files)")
    assert(errorOf(changed).contains("this driver has planned no scan of it that can be observed"))
  }

  test("columns that the index leaves out") {
    val chosen = create("advised_columns")
    sql(s"CALL zonemap.system.build_index(table => '$chosen', columns => array('id'))").collect()
    val row = only(advise(chosen, s"SELECT * FROM $chosen WHERE mixed = 3 AND id > 5"), "columns")
    assert(text(row, "subject") == "mixed", row)
    assert(
      text(row, "statement") == s"CALL zonemap.system.build_index(table => '$chosen', columns => array('id', 'mixed'))",
      row)
    sql(text(row, "statement")).collect()
    assert(!advise(chosen, s"SELECT * FROM $chosen WHERE mixed = 3").exists(text(_, "advice") == "columns"))
  }

  test("bounds that writers do not collect: beyond 100 columns, and texts with a shared beginning") {
    val wide = create(
      "advised_wide",
      (0 until 110)
        .map(i => if (i == 3) s"concat('https://example.org/', id) AS c$i" else s"id + $i AS c$i")
        .mkString("SELECT ", ", ", " FROM RANGE(0, 40, 1, 4)")
    )
    val rows = advise(wide, s"SELECT c0 FROM $wide WHERE c108 = 120 AND c3 = 'https://example.org/7' AND c1 > 3")
    val row = only(rows, "metrics")
    assert(text(row, "subject") == "c3, c108", row)
    assert(
      text(row, "statement") == s"ALTER TABLE $wide SET TBLPROPERTIES ('write.metadata.metrics.column.c3' = " +
        "'truncate(64)', 'write.metadata.metrics.column.c108' = 'full')",
      row
    )
    assert(text(row, "message").contains("the table has 110 columns, and Iceberg collects bounds of the first 100"))
    sql(text(row, "statement")).collect()
    val columns = only(rows, "columns")
    assert(text(columns, "statement").endsWith("columns => array('c1', 'c3', 'c108'))"), columns)
    assert(!advise(wide, s"SELECT c0 FROM $wide WHERE c108 = 120").exists(text(_, "advice") == "metrics"))
    val measured = advise(wide, s"SELECT c0 FROM $wide WHERE c109 = 120")
    val fact = text(only(measured, "fact"), "statement")
    assert(!measured.exists(r => text(r, "advice") == "no help" && text(r, "message").contains(fact)), measured)
  }

  test("mistakes are one clear sentence with the next step") {
    sql("CREATE OR REPLACE TEMPORARY VIEW advised_view AS SELECT 1 AS id")
    Seq("advised_empty", "advised_unindexed").foreach(t => sql(s"DROP TABLE IF EXISTS lake.db.$t"))
    sql("CREATE TABLE lake.db.advised_empty (id BIGINT) USING iceberg")
    sql("CREATE TABLE lake.db.advised_unindexed (id BIGINT) USING iceberg")
    sql("INSERT INTO lake.db.advised_unindexed VALUES (1)")
    val select = s"SELECT * FROM $table WHERE mixed = 3"
    val cases = Seq(
      errorOf("lake.db.nowhere") -> "Cannot advise on 'lake.db.nowhere': ",
      errorOf("advised_view") -> "Cannot advise on 'advised_view': ",
      errorOf("lake.db.advised_empty") -> "the table has no snapshot. Write to the table and run queries first.",
      errorOf("lake.db.advised_unindexed", "SELECT * FROM lake.db.advised_unindexed WHERE id = 1") ->
        "CALL zonemap.system.build_index(table => 'lake.db.advised_unindexed') indexes it.",
      errorOf(table, s"DELETE FROM $table") -> s"Cannot advise on a table by 'DELETE FROM $table': it is not a SELECT.",
      errorOf(table, "SELECT 1") -> "none of the queries has a scan of it that zonemap plans. Give queries that read",
      errorOf(table, s"$select AND nothing = 1") -> "Correct the query, and name tables as catalog.namespace.table."
    )
    cases.foreach { case (found, expected) => assert(found.contains(expected), found) }
  }

  test("without facts, no data file is read") {
    val rows = sql(
      s"CALL zonemap.system.advise(table => '$table', facts => false, " +
        s"queries => array('SELECT * FROM $table WHERE ref = ''ref-5'''))").collect().toSeq
    assert(rows.map(text(_, "advice")) == Seq("sort"), rows)
  }

  test("no sort is advised for a table without files") {
    val empty = create("advised_no_files")
    sql(s"TRUNCATE TABLE $empty")
    val rows = advise(empty, s"SELECT * FROM $empty WHERE mixed = 3")
    assert(!rows.exists(text(_, "advice") == "sort"), rows)
  }
}
