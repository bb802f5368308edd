// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import org.apache.spark.sql.Row

/** Each statement that why_not and advise print for a condition makes the condition keep fewer files. */
class TrueRemediesTest extends AdviceCalls {
  private val table = "lake.db.remedies"

  /** The call of advise in a remedy only leads on. */
  private val Call = "(?:CALL zonemap\\.system\\.(?:build|refresh)\\(.*?\\)|ALTER TABLE .*?\\))(?=\\.( |$))".r

  /** Whether the table is as [[create]] made it. */
  private var isNew = false

  /** Eight files of 500 rows; three columns have no bounds, and the index leaves `left_out` out. */
  private def create(): Unit = if (!isNew) {
    sql(s"DROP TABLE IF EXISTS $table")
    sql(s"""CREATE TABLE $table USING iceberg TBLPROPERTIES ('write.distribution-mode' = 'none',
           |  'write.target-file-size-bytes' = '65536', 'write.metadata.metrics.column.hidden' = 'none',
           |  'write.metadata.metrics.column.noisy' = 'none', 'write.metadata.metrics.column.hidden2' = 'none') AS
           |SELECT id, id AS hidden, id AS hidden2, pmod(hash(id), 100000) AS noisy, pmod(hash(id), 100000) AS random,
           |  id DIV 500 * 10 + pmod(id, 2) AS pair, pmod(id, 7) AS spread, id AS left_out,
           |  concat('m', pmod(hash(id), 9000000)) AS message, concat('https://example.org/', id DIV 500) AS url,
           |  named_struct('x', pmod(hash(id, 1), 100000), 'y', pmod(id, 7)) AS st,
           |  map('type', if(pmod(id, 2) = 0, 'apply', 'view'), 'n', CAST(id DIV 500 AS STRING)) AS tags
           |FROM RANGE(0, 4000, 1, 8)""".stripMargin)
    val columns = Seq("id", "hidden", "hidden2", "noisy", "random", "pair", "spread", "message", "url", "st.x", "st.y")
    val chosen = columns.map(c => s"'$c'").mkString(", ")
    sql(s"CALL zonemap.system.build_index(table => '$table', columns => array($chosen))").collect()
    isNew = true
  }

  private def query(condition: String): String = s"SELECT * FROM $table WHERE $condition"

  private def whyNot(condition: String): Seq[Row] =
    sql(s"CALL zonemap.system.why_not(query => ${quoted(query(condition))})").collect().toSeq

  private def printed(condition: String): Seq[String] = {
    val explained = runtime.explain(sql(query(condition)).queryExecution.executedPlan)
    assert(!explained.contains("zonemap.system.build_index") && !explained.contains("TBLPROPERTIES"), explained)
    val remedies = whyNot(condition).flatMap(row => Call.findAllIn(text(row, "remedy")))
    val advice = advise(table, query(condition))
    val inMessages = advice.flatMap(row => Call.findAllIn(text(row, "message")))
    (remedies ++ inMessages ++ advice.map(text(_, "statement")).filter(_.nonEmpty)).distinct
  }

  /** A property of the table is of the files of later writes. */
  private def run(statement: String): Unit = {
    isNew = false
    sql(statement).collect()
    if (statement.startsWith("ALTER"))
      sql(
        s"CALL lake.system.rewrite_data_files(table => '$table', options => map('rewrite-all', 'true', " +
          "'target-file-size-bytes', '8192', 'max-file-group-size-bytes', '1'))").collect(): Unit
    if (!statement.startsWith("CALL zonemap")) build(table)
  }

  private val helped = Seq(
    "tags['type'] = 'click'",
    "tags['n'] = '3'",
    "url LIKE '%org/3%'",
    "url LIKE '%g/3'",
    "url LIKE 'https://example.org/3%'",
    "message LIKE 'm1%'",
    "message = 'm43217'",
    "url LIKE '%/3'",
    "hash(pair) = hash(30L)",
    "hidden = 33",
    "hidden = 33 OR hidden2 = 3900",
    "hidden BETWEEN 100 AND 120",
    "left_out = 77",
    "noisy = 33333",
    "random = 33333",
    "random IN (33333, 44444)",
    "random BETWEEN 33333 AND 33336",
    "st.x = 33333"
  )

  private val unhelped = Seq(
    "tags['type'] = 'view'",
    "message LIKE '%1'",
    "message LIKE '%17%'",
    "message LIKE '%4321%'",
    "hash(random) = 7",
    "hash(spread) = hash(3L)",
    "spread = 3",
    "spread IN (3, 4)",
    "noisy > 5",
    "random > 5",
    "pow(random, spread) = 7",
    "st.y = 3",
    "hidden < id"
  )

  test("each printed statement makes its condition keep fewer files") {
    for (condition <- helped) {
      create()
      val before = keptFiles(query(condition))
      val statements = printed(condition)
      println(s"remedies of $condition, $before files: ${statements.mkString("; ")}")
      assert(statements.nonEmpty, s"$condition\n${whyNot(condition).mkString("\n")}")
      for (statement <- statements) {
        create()
        run(statement)
        val after = keptFiles(query(condition))
        assert(after < before, s"$condition: $after of $before files after $statement")
      }
    }
  }

  test("no statement is printed where nothing helps, and why_not says so") {
    create()
    for (condition <- unhelped) {
      assert(keptFiles(query(condition)) == 8, condition)
      val statements = printed(condition)
      assert(statements.isEmpty, s"$condition\n${whyNot(condition).mkString("\n")}")
      val remedies = whyNot(condition).map(text(_, "remedy")).filterNot(Set("", "Nothing."))
      assert(remedies.nonEmpty, s"$condition\n${whyNot(condition).mkString("\n")}")
    }
  }
}
