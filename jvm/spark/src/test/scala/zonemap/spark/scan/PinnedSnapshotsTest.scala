// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import scala.util.Try

import org.apache.iceberg.expressions.Expressions
import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

import zonemap.spark.join.KeyFilteredScan
import zonemap.spark.{LateCommit, SharedSession}

/** A rule and the scan of its relation read one snapshot; compiled for each minor of Spark (SOUNDNESS, S170). */
class PinnedSnapshotsTest extends SharedSession {

  /** Removes the two files with ids below 20. */
  private def remove(table: String): Unit =
    Spark3Util.loadIcebergTable(spark, table).newDelete().deleteFromRowFilter(Expressions.lessThan("id", 20)).commit()

  private def firstIds(frame: DataFrame): Seq[String] = rows(frame.selectExpr("id").orderBy("id").limit(3))

  for {
    (name, query, before, after) <- Seq[(String, String => String, Seq[String], Seq[String])](
      (
        "first rows",
        t => s"SELECT id FROM $t ORDER BY id LIMIT 3",
        Seq("[0]", "[1]", "[2]"),
        Seq("[20]", "[21]", "[22]")),
      ("COUNT, MIN, MAX", t => s"SELECT count(*), min(id), max(id) FROM $t", Seq("[50,0,49]"), Seq("[30,20,49]")),
      ("LIMIT", t => s"SELECT count(*) FROM (SELECT id FROM $t WHERE id < 25 LIMIT 15)", Seq("[15]"), Seq("[5]")),
      ("a join", t => s"SELECT min(a.id) FROM $t a JOIN $t b ON a.id = b.id + 5", Seq("[5]"), Seq("[25]"))
    )
  } test(s"$name: a commit after the rules, and before the scan is built, is read by the next query") {
    val table = newTable("late")
    build(table)
    val found = LateCommit.after(remove(table))(rows(sql(query(table))))
    assert(found == before)
    build(table)
    assert(rows(sql(query(table))) == after)
  }

  /** Deletes from a table that `commit` changes. Returns the rows, or the error, and the planned scans. */
  private def deleted(
      table: String,
      condition: String,
      isPlanned: Boolean,
      commit: String => Unit): (Try[Seq[String]], Seq[Scan]) = {
    sql(s"""CREATE OR REPLACE TABLE $table USING iceberg TBLPROPERTIES ('write.delete.mode'='merge-on-read')
      AS SELECT /*+ REPARTITION_BY_RANGE(5, id) */ id, 49 - id AS v, CAST(id AS STRING) AS s FROM RANGE(50)""")
    build(table)
    val command = planOnly(s"DELETE FROM $table WHERE $condition")
    def late(): Unit = {
      commit(table)
      build(table)
    }
    val plan = if (isPlanned) command.optimizedPlan else LateCommit.after(late())(command.optimizedPlan)
    if (isPlanned) late()
    val found = Try {
      SQLExecution.withNewExecutionId(command)(command.executedPlan.executeCollect())
      rows(sql(s"SELECT * FROM $table"))
    }
    (found, plan.collect { case relation: DataSourceV2ScanRelation => relation.scan })
  }

  private def isCut(scan: Scan): Boolean =
    scan match {
      case keyed: KeyFilteredScan => keyed.steps.flatMap(_._2).exists(cut => cut.after.files < cut.before.files)
      case other                  => IcebergScans.report(other).exists(plan => plan.kept < plan.considered)
    }

  for {
    (what, condition) <- Seq("keys" -> "id IN (SELECT * FROM VALUES (14L))", "a function" -> "id * 2 = 28")
    (when, isPlanned) <- Seq("before" -> false, "after" -> true)
    (change, commit) <- Seq[(String, String => Unit)](
      "removes files" -> remove,
      "adds a file with a key" -> (t => sql(s"INSERT INTO $t VALUES (14, 14, 'late')"): Unit),
      "exchanges the names of columns" -> (t =>
        Seq("id TO old", "v TO id", "old TO v").foreach(names => sql(s"ALTER TABLE $t RENAME COLUMN $names")))
    )
  } test(s"a DELETE by $what ends as without the product if a commit $when its plan $change") {
    val (found, scans) = deleted("lake.db.deleted", condition, isPlanned, commit)
    val (expected, stock) = withConf("spark.sql.zonemap.enabled" -> "false") {
      deleted("lake.db.deleted_stock", condition, isPlanned, commit)
    }
    assert(found.toOption == expected.toOption)
    assert(found.failed.map(_.getClass).toOption == expected.failed.map(_.getClass).toOption)
    assert(!stock.exists(isCut))
    // a scan that is built after the exchange reads other columns than the condition was analyzed with
    val readsOthers = what == "a function" && change.startsWith("exchanges") && !isPlanned
    assert(scans.exists(isCut) != readsOthers)
  }

  test("a cached query is read again after a write, and is forgotten after unpersist") {
    val table = newTable("cached_query")
    build(table)
    def isCached = sql(s"SELECT * FROM $table").queryExecution.withCachedData.exists(_.isInstanceOf[InMemoryRelation])
    try {
      assert(sql(s"SELECT * FROM $table").cache().count() == 50 && isCached)
      sql(s"INSERT INTO $table VALUES (1000L, 0, 'x')")
      assert(sql(s"SELECT * FROM $table").collect().length == 51 && isCached)
      sql(s"DELETE FROM $table WHERE id >= 990")
      assert(sql(s"SELECT * FROM $table").collect().length == 50 && isCached)
      sql(s"UPDATE $table SET id = 2000 WHERE id = 7")
      assert(rows(sql(s"SELECT max(id) FROM (SELECT * FROM $table)")) == Seq("[2000]") && isCached)
      sql(s"SELECT * FROM $table").unpersist()
      assert(!isCached)
    } finally spark.catalog.clearCache()
  }

  test("a cached table is read again after a write") {
    val table = newTable("cached_again")
    build(table)
    sql(s"CACHE TABLE $table")
    try {
      assert(rows(sql(s"SELECT count(*) FROM $table")) == Seq("[50]"))
      sql(s"INSERT INTO $table VALUES (-1, 0, 'x')")
      assert(rows(sql(s"SELECT min(id), count(*) FROM $table")) == Seq("[-1,51]"))
    } finally sql(s"UNCACHE TABLE IF EXISTS $table"): Unit
  }

  test("a branch that a read option or the session names is read, and no rule answers for another") {
    val table = newTable("branches")
    build(table)
    sql(s"ALTER TABLE $table CREATE BRANCH b")
    remove(table)
    build(table)
    assert(firstIds(spark.read.option("branch", "b").table(table)) == Seq("[0]", "[1]", "[2]"))
    assert(firstIds(spark.read.table(table)) == Seq("[20]", "[21]", "[22]"))
    sql(s"ALTER TABLE $table SET TBLPROPERTIES ('write.wap.enabled'='true')")
    withConf("spark.wap.branch" -> "b") {
      assert(firstIds(spark.read.table(table)) == Seq("[0]", "[1]", "[2]"))
      assert(rows(sql(s"SELECT count(*), min(id) FROM $table")) == Seq("[50,0]"))
    }
  }
}
