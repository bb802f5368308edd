// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.iceberg.expressions.Expressions
import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.DataFrame

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
