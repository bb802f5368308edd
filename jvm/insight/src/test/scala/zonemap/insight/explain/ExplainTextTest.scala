// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.CommandExecutionMode

import zonemap.spark.SharedSession

/** The section of EXPLAIN: which scans it has, how each was planned, and the texts in it. */
class ExplainTextTest extends SharedSession {

  private def explained(frame: DataFrame): String = runtime.explain(frame.queryExecution.executedPlan)

  private def explained(text: String): String = explained(sql(text))

  private def explainedOnly(command: String): String = {
    val session = spark.asInstanceOf[ClassicSession].sessionState
    runtime.explain(session.executePlan(session.sqlParser.parsePlan(command), CommandExecutionMode.SKIP).executedPlan)
  }

  private lazy val table: String = {
    val name = newTable("explained")
    build(name)
    name
  }

  test("a read that is switched off by its option is DISABLED, as by the session's conf") {
    val option = spark.read.option("zonemap.enabled", "false").table(table).where("id = 3")
    assert(explained(option).contains("reason: DISABLED ("))
    withConf("spark.sql.zonemap.enabled" -> "false") {
      assert(explained(s"SELECT * FROM $table WHERE id = 3").contains("reason: DISABLED ("))
    }
    assert(explained(s"SELECT * FROM $table WHERE id = 3").contains("mode EXACT"))
  }

  test("a table without a snapshot is EMPTY_TABLE, with and without a condition") {
    sql("CREATE OR REPLACE TABLE lake.db.explained_empty (id BIGINT, s STRING) USING iceberg")
    for (tail <- Seq("", "WHERE id = 3", "WHERE length(s) = 2", "ORDER BY id LIMIT 3")) {
      val text = explained(s"SELECT * FROM lake.db.explained_empty $tail")
      assert(
        text == "table lake.db.explained_empty mode STOCK\n  reason: EMPTY_TABLE (the table has no snapshot)",
        tail)
    }
  }

  private def target(mode: String): String = {
    val name = newTable("explained_target")
    sql(s"ALTER TABLE $name SET TBLPROPERTIES ('format-version' = '2', 'write.merge.mode' = '$mode')")
    build(name)
    name
  }

  /** True if the index planned each scan of the table in the section. */
  private def isIndexed(section: String, table: String): Boolean = {
    val scans = section.linesIterator.map(_.trim).filter(_.startsWith(s"table $table ")).toSeq
    scans.nonEmpty && scans.forall(_.contains(" mode EXACT "))
  }

  private val source = "(SELECT * FROM VALUES (12L, 'x'), (13L, 'y') AS v(k, name))"

  for (adaptive <- Seq("true", "false"))
    test(s"the target of a merge-on-read MERGE and its join pruning, before and after the run, adaptive $adaptive") {
      withConf("spark.sql.adaptive.enabled" -> adaptive) {
        val name = target("merge-on-read")
        val merge = s"MERGE INTO $name t USING $source s ON t.id = s.k WHEN MATCHED THEN UPDATE SET s = s.name " +
          "WHEN NOT MATCHED THEN INSERT (id, p, s) VALUES (s.k, 0, s.name)"
        val before = explainedOnly(merge)
        assert(isIndexed(before, name), before)
        assert(before.contains("  join pruning on id: at run time"), before)
        val after = explained(sql(merge))
        assert(isIndexed(after, name) && after.contains("  join pruning on id: 5 -> 1 files"), after)
      }
    }

  test("the target of a copy-on-write MERGE is in the section") {
    val name = target("copy-on-write")
    val text =
      explainedOnly(s"MERGE INTO $name t USING $source s ON t.id = s.k WHEN MATCHED THEN UPDATE SET s = s.name")
    assert(isIndexed(text, name), text)
    val delete = explainedOnly(s"DELETE FROM $name WHERE id IN (SELECT k FROM $source)")
    assert(isIndexed(delete, name), delete)
    val update = explainedOnly(s"UPDATE $name SET s = 'x' WHERE id = 12")
    assert(isIndexed(update, name) && update.contains("kept after zones: 1,"), update)
    val halves = explainedOnly(s"UPDATE $name SET s = 'x' WHERE id IN (SELECT k FROM $source) OR id = 15")
    for (section <- Seq(text, delete, update, halves)) {
      val kinds = section.linesIterator.map(_.trim.takeWhile(_ != ' ')).filter(Set("search:", "target:", "aggregates:"))
      // each half of an UPDATE by a subquery has a search, and both share the scan of the target
      val searches = if (section eq halves) 2 else 1
      assert(kinds.toSeq.sorted == Seq.fill(searches)("search:") :+ "target:", section)
    }
    withConf("spark.sql.zonemap.rowLevel.enabled" -> "false") {
      val off = explainedOnly(s"UPDATE $name SET s = 'x' WHERE id = 12")
      assert(off.contains(s"table $name mode STOCK\n  reason: NOT_A_QUERY_SCAN ("), off)
    }
  }

  private lazy val keys: String = {
    sql(s"CREATE OR REPLACE TABLE lake.db.explained_keys USING iceberg AS SELECT * FROM $source")
    build("lake.db.explained_keys")
    "lake.db.explained_keys"
  }

  test("a scan is described once, also if the keys of a join or of a MERGE are read from a copy of its plan") {
    def tables(text: String): Seq[String] =
      text.linesIterator.filter(_.startsWith("table ")).map(_.split(' ')(1)).toSeq.sorted
    val query = s"SELECT /*+ BROADCAST(s) */ t.id FROM $table t JOIN $keys s ON t.id = s.k WHERE s.name LIKE 'x%'"
    val (join, ran) = (explainedOnly(query), explained(sql(query)))
    for (text <- Seq(join, ran)) assert(tables(text) == Seq(table, keys).sorted, text)
    val name = target("merge-on-read")
    val merge = explainedOnly(
      s"MERGE INTO $name t USING $keys s ON t.id = s.k WHEN MATCHED THEN UPDATE SET s = s.name " +
        "WHEN NOT MATCHED THEN INSERT (id, p, s) VALUES (s.k, 0, s.name)")
    assert(merge.contains("join pruning on id: at run time") && tables(merge) == Seq(name, keys).sorted, merge)
    val twice = explainedOnly(s"SELECT * FROM $table WHERE id = 3 UNION ALL SELECT * FROM $table WHERE id = 3")
    assert(tables(twice) == Seq(table, table), twice)
  }

  test("the side of an anti join or of EXISTS that is only compared is not said to be returned") {
    val anti = explainedOnly(s"SELECT * FROM $table t LEFT ANTI JOIN $keys s ON t.id = s.k")
    assert(anti.contains("(a join of type LEFT ANTI returns rows that match no row"), anti)
    assert(anti.contains("(no file of this side of a join of type LEFT ANTI is pruned by its keys)"), anti)
    val exists = explainedOnly(s"SELECT * FROM $table WHERE EXISTS (SELECT 1 FROM $keys WHERE k = id) OR id = 3")
    assert(exists.contains("(no file of this side of a join of type EXISTENCE is pruned by its keys)"), exists)
  }

  test("values are printed without control characters, each line of the section on one line") {
    def isControl(c: Char): Boolean = c != '\n' && Character.isISOControl(c)
    for (condition <- Seq(
        "concat('1', s) = '112'",
        "concat('1', s) > '112'",
        "concat('1', s) IN ('112', '113')",
        "s = 'a\\u0000b\\u0001'",
        "s > 'a\\tb\\nc\\r'",
        "upper(s) = 'A\\nB'",
        "s LIKE '%a\\nb%'"
      )) {
      val text = explained(s"SELECT * FROM $table WHERE $condition")
      assert(!text.exists(isControl), text)
      assert(text.linesIterator.forall(line => line.startsWith("table ") || line.startsWith("  ")), text)
    }
    assert(explained(s"SELECT * FROM $table WHERE concat('1', s) = '112'").contains("s IN ['12', '12']"))
    assert(explained(s"SELECT * FROM $table WHERE concat('1', s) > '112'").contains("s IN ('12', +inf)"))
  }

  test("a line feed in the name of a column does not break a line") {
    val name = newTable("explained_line_feed")
    sql(s"ALTER TABLE $name RENAME COLUMN id TO `i\nd`")
    build(name)
    val text =
      explained(s"SELECT * FROM $name WHERE `i\nd` = 3 AND length(concat(`i\nd`, s)) = 4 ORDER BY `i\nd` LIMIT 2")
    assert(text.contains("i\\u000ad"), text)
    assert(text.linesIterator.drop(1).forall(_.startsWith("  ")), text)
  }

  test("files that single values prune are in the steps, in the history and in the metric, without a fact") {
    val query = s"SELECT * FROM $table WHERE p % 2 = 1"
    val text = explained(query)
    assert(text.contains("kept after zones: 5,") && text.contains("kept after evaluation: 2,"), text)
    val history = sql(s"CALL zonemap.system.planned_scans(table => '$table', max_scans => 1)").collect().head
    def count(name: String): Long = history.getAs[Long](name)
    assert((count("files_after_bounds"), count("files_kept")) == ((5L, 2L)), history)
    assert(history.getAs[Seq[org.apache.spark.sql.Row]]("steps").last.getAs[Long]("files_after") == 2L, history)
    val whyNot = sql(s"CALL zonemap.system.why_not(query => '$query')").collect().head.getAs[String]("message")
    assert(whyNot == "2 of 5 files kept: 5 after partitions, 5 after bounds, 2 after evaluation")
    val limited = sql(s"CALL zonemap.system.why_not(query => 'SELECT * FROM $table WHERE id >= 20 LIMIT 3')")
      .collect()
      .head
      .getAs[String]("message")
    assert(limited == "1 of 5 files kept: 5 after partitions, 3 after bounds, 1 after the LIMIT")
  }

  test("a line feed in the name of a table, or in a reason, does not break a line") {
    val name = "lake.db.`explained\nname`"
    sql(s"CREATE OR REPLACE TABLE $name (id BIGINT) USING iceberg")
    val empty = explained(s"SELECT * FROM $name")
    sql(s"INSERT INTO $name VALUES (3)")
    build(name)
    val indexed = explained(s"SELECT * FROM $name WHERE id = 3")
    withConf("spark.sql.zonemap.hot.maxBytes" -> "a\nb") {
      val malformed = explained(s"SELECT * FROM $name")
      for (text <- Seq(empty, indexed, malformed)) {
        assert(text.startsWith("table lake.db.explained\\u000aname "), text)
        assert(text.linesIterator.drop(1).forall(_.startsWith("  ")), text)
      }
      assert(malformed.contains("reason: MALFORMED_CONF (") && malformed.contains("a\\u000ab"), malformed)
    }
  }

  test("Spark shows scans by the name of the table; scans of other conditions stay other scans") {
    val query = s"SELECT * FROM $table WHERE id + 1 = 13 UNION ALL SELECT * FROM $table WHERE id + 1 = 34"
    val frame = sql(query)
    val plan = frame.queryExecution.executedPlan.toString
    assert(plan.contains(s"BatchScan $table[") && !plan.contains("zonemap["), plan)
    assert(!frame.queryExecution.explainString(org.apache.spark.sql.execution.FormattedMode).contains("zonemap["))
    assert(rows(frame) == Seq("[12,1,12]", "[33,1,33]"))
    for (tail <- Seq("ORDER BY id LIMIT 3", "LIMIT 3"))
      assert(!sql(s"SELECT * FROM $table $tail").queryExecution.executedPlan.toString.contains("zonemap["))
  }

  test("reasons name the query's expressions, and no column that Spark made up") {
    val grouped = explained(s"SELECT id % 7, count(*) FROM $table WHERE id >= 10 GROUP BY id % 7")
    assert(grouped.contains("aggregates: all planned files read, AGGREGATE_GROUPING ((id % "), grouped)
    val aliased = explained(s"SELECT max(k) FROM (SELECT id * 2 AS k FROM $table WHERE id >= 10)")
    assert(aliased.contains("aggregates: all planned files read, AGGREGATE_FUNCTION (max((id * "), aliased)
    for (text <- Seq(grouped, aliased)) assert(!text.contains("_groupingexpression") && !text.contains("#"), text)
  }

  test("EXPLAIN: the plan of the index, file counts, the predicate") {
    val t = newTable("explained_parts", partitioned = true)
    build(t)
    val text = explained(s"SELECT * FROM $t WHERE id = 15 AND p = 1")
    for (part <- Seq(
        s"table $t snapshot ",
        "mode EXACT tier hot",
        "files considered: 5",
        "kept after partitions: 2",
        "kept after zones: 1",
        "predicate: ",
        "id = 15"
      ))
      assert(text.contains(part), s"$part\n$text")
  }

  test("EXPLAIN: why Iceberg plans") {
    val t = newTable("unexplained")
    assert(explained(s"SELECT * FROM $t").contains("reason: NOT_COVERED"))
    assert(explained(s"SELECT * FROM $t.snapshots").contains("reason: FOREIGN_PLANNER"))
    assert(explained(s"SELECT * FROM $t.files").contains("does not hold: column_sizes, "))
    assert(explained(s"SELECT count(*) FROM $t.files").contains("reason: NOT_COVERED"))
    assert(explained("SELECT 1").contains("no scan of an Iceberg table: the plan reads none, or only metadata"))
    build(t)
    assert(explained(s"SELECT count(*) FROM $t.files").contains(s"5 rows of $t.files from the index"))
    withConf("spark.sql.zonemap.enabled" -> "false")(
      assert(explained(s"SELECT * FROM $t").contains("reason: DISABLED")))
    withConf("spark.sql.zonemap.shadow.enabled" -> "maybe")(
      assert(explained(s"SELECT * FROM $t").contains("reason: MALFORMED_CONF")))
  }

  test("the ranges of a function, and a condition that is evaluated on single values") {
    val functions = "lake.db.explained_functions"
    sql(s"CREATE OR REPLACE TABLE $functions (i INT, region STRING) USING iceberg")
    sql(s"INSERT INTO $functions VALUES (1, 'eu'), (2, 'eu')")
    sql(s"INSERT INTO $functions VALUES (708, 'us')")
    build(functions)
    val ranges = explained(s"SELECT * FROM $functions WHERE i + 1 = 708")
    assert(ranges.contains("predicate: i IN [707, 708) or [2147483647, +inf)"), ranges)
    val evaluated = explained(s"SELECT i FROM $functions WHERE upper(region) = 'EU'")
    assert(evaluated.contains("predicate: region IS NOT NULL AND (upper(region) = 'EU')"), evaluated)
  }
}
