// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import org.apache.spark.sql.Row

import zonemap.spark.SharedSession

/**
 * Calls `advise` and compares its estimates with tables on which its statements ran: at most twice as many files or half
 * as many, and one file more or less for each scan.
 */
trait AdviceCalls extends SharedSession {

  /**
   * A table with the result of a query. Its files are not compressed: writers estimate the size of a file that is not yet
   * complete without compression.
   *
   * @param fileBytes the target size of its files
   */
  protected def createTable(table: String, query: String, fileBytes: Option[Int]): String = {
    val size = fileBytes.fold("")(bytes => s", 'write.target-file-size-bytes' = '$bytes'") +
      ", 'write.parquet.compression-codec' = 'uncompressed'"
    sql(s"DROP TABLE IF EXISTS $table")
    sql(s"CREATE TABLE $table USING iceberg TBLPROPERTIES ('write.distribution-mode' = 'none'$size) AS $query")
    build(table)
    table
  }

  protected def advise(table: String, queries: String*): Seq[Row] = {
    val list = if (queries.isEmpty) "" else queries.map(quoted).mkString(", queries => array(", ", ", ")")
    sql(s"CALL zonemap.system.advise(table => '$table'$list)").collect().toSeq
  }

  protected def quoted(text: String): String = s"'${text.replace("'", "''")}'"

  protected def text(row: Row, column: String): String = row.getAs[String](column)
  protected def count(row: Row, column: String): Long = row.getAs[Long](column)

  protected def only(rows: Seq[Row], kind: String, subject: String => Boolean = _ => true): Row = {
    val found = rows.filter(row => text(row, "advice") == kind && subject(text(row, "subject")))
    assert(found.size == 1, s"one row '$kind'\n${rows.mkString("\n")}")
    found.head
  }

  protected def keptFiles(query: String): Long =
    sql(s"CALL zonemap.system.why_not(query => ${quoted(query)})")
      .collect()
      .find(text(_, "part") == "scan")
      .map(count(_, "files_after"))
      .get

  protected def assertClose(row: Row, real: Long, scans: Int): Unit = {
    val estimate = count(row, "files_after")
    println(s"advice ${text(row, "subject")}: about $estimate files of ${count(row, "files_before")}, really $real")
    assert(estimate <= 2 * real + scans && real <= 2 * estimate + scans, s"really $real files: $row")
  }

  protected def errorOf(table: String, queries: String*): String = {
    val error = intercept[Exception](advise(table, queries: _*))
    Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.getMessage).mkString(" | ")
  }
}
