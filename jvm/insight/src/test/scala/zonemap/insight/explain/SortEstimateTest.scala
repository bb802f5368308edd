// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import zonemap.spark.SharedSession

/**
 * The estimate of `why_not`, compared with a table that is really sorted: at most twice as many files or half as many,
 * and one file more or less.
 */
class SortEstimateTest extends SharedSession {
  private val files = 32

  private val columns =
    s"""id, pmod(id * 7919, 6400) AS mixed, pmod(hash(id), 3000) AS users, concat('user-', pmod(id * 7919, 6400)) AS name,
       |  date_add(DATE'2026-01-01', CAST(pmod(hash(id), 64) AS INT)) AS day, pmod(id * 7919, 6400) / 10D AS ratio,
       |  CAST(pow(pmod(id * 7919, 6400), 1.5) AS BIGINT) AS skewed, CAST(pmod(id * 7919, 3) AS INT) AS few""".stripMargin

  private def create(name: String, query: String): String = {
    val table = s"lake.db.$name"
    sql(s"DROP TABLE IF EXISTS $table")
    sql(s"CREATE TABLE $table USING iceberg TBLPROPERTIES ('write.distribution-mode' = 'none') AS $query")
    build(table)
    table
  }

  private lazy val unsorted: String = create("estimate_unsorted", s"SELECT $columns FROM RANGE(0, 6400, 1, $files)")

  private val sortedTables = scala.collection.mutable.Map.empty[String, String]

  private def sorted(column: String): String =
    sortedTables.getOrElseUpdate(
      column,
      create(
        s"estimate_by_$column",
        s"SELECT /*+ REPARTITION_BY_RANGE($files, $column) */ * FROM $unsorted SORT BY $column"))

  private def whyNot(table: String, where: String) =
    sql(s"CALL zonemap.system.why_not(query => '${s"SELECT id FROM $table WHERE $where".replace("'", "''")}')")
      .collect()

  private def keptFiles(table: String, where: String): Long =
    whyNot(table, where).find(_.getAs[String]("part") == "scan").get.getAs[Long]("files_after")

  private val Estimate = "(?:Sorting by `\\w+`|A sort) would keep about ([\\d,]+) file".r

  private def estimates(where: String): Seq[Long] =
    whyNot(unsorted, where).toSeq
      .map(_.getAs[String]("remedy"))
      .flatMap(Estimate.findFirstMatchIn(_))
      .map(_.group(1).replace(",", "").toLong)
      .distinct

  private val cases = Seq(
    "mixed = 3000",
    "mixed >= 3000 AND mixed < 3064",
    "mixed IN (5, 1000, 2000, 3000, 6000)",
    "users = 30",
    "name = 'user-3000'",
    "name LIKE 'user-3%'",
    "day = DATE'2026-01-20'",
    "day >= DATE'2026-01-20' AND day < DATE'2026-02-05'",
    "ratio BETWEEN 100 AND 110",
    "skewed < 50000"
  )

  test("the estimate of a sort, for values of many kinds and conditions from narrow to wide") {
    for (where <- cases) {
      val column = where.takeWhile(_.isLetter)
      val real = keptFiles(sorted(column), where)
      val found = estimates(where)
      assert(found.size == 1, s"$where: one estimate, not $found\n${whyNot(unsorted, where).mkString("\n")}")
      assert(found.head <= 2 * real + 1 && real <= 2 * found.head + 1, s"$where: estimate ${found.head}, really $real")
    }
  }

  test("no estimate, with the reason, for a column with few values in its bounds") {
    val row = whyNot(unsorted, "few = 1").find(_.getAs[String]("code") == "CONDITION_OVERLAP").get
    val remedy = row.getAs[String]("remedy")
    assert(
      remedy.startsWith(
        "No estimate of a sort by `few`: the bounds of few show only 2 different values, so the number of rows of a " +
          "value is unknown."),
      remedy
    )
    assert(estimates("few = 1").isEmpty)
  }
}
