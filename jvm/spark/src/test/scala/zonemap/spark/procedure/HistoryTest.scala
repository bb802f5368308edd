package zonemap.spark.procedure

import zonemap.spark.SharedSession

/** `history`: the newest scans of this driver, with their files, or the reason why Iceberg planned. */
class HistoryTest extends SharedSession {

  private def history(arguments: String) = sql(s"CALL zonemap.system.history($arguments)").collect().toSeq

  test("the scans of a table, the newest first, with files and the reason of a stock plan") {
    val table = newTable("history")
    assert(history(s"table => '$table'").isEmpty)
    sql(s"SELECT * FROM $table WHERE id = 1").collect()
    build(table)
    sql(s"SELECT * FROM $table WHERE id = 33").collect()
    sql(s"SELECT * FROM $table WHERE p = 1 ORDER BY id LIMIT 2").collect()
    val rows = history(s"table => '$table'")
    assert(rows.map(_.getAs[String]("mode")) == Seq("EXACT", "EXACT", "STOCK"), rows)
    val (first, point, stock) = (rows.head, rows(1), rows(2))
    assert(first.getAs[String]("top_k").contains("id <= ") && first.getAs[Long]("limit") == -1, first)
    assert(
      Seq("files_considered", "files_after_bounds", "files_kept").map(point.getAs[Long]) == Seq(5L, 1L, 1L) &&
        point.getAs[String]("predicate") == "id = 33" && point.getAs[Double]("milliseconds") > 0,
      point
    )
    val sizes = sql(s"SELECT file_size_in_bytes FROM $table.files ORDER BY file_path").collect().map(_.getLong(0))
    assert(point.getAs[Long]("bytes_considered") == sizes.sum && sizes.contains(point.getAs[Long]("bytes_kept")), point)
    assert(Seq("bytes_considered", "bytes_kept").map(stock.getAs[Long]) == Seq(-1L, -1L), stock)
    assert(stock.getAs[String]("reason").startsWith("NOT_COVERED: ") && stock.getAs[Long]("files_kept") == -1, stock)
    assert(point.getAs[java.sql.Timestamp]("planned_at").getTime > System.currentTimeMillis() - 600000)
    assert(history(s"table => '$table', max_scans => 1").size == 1 && history("").size >= 3)
  }

  test("mistakes") {
    val unknown = intercept[Exception](history("table => 'lake.db.nope'"))
    assert(unknown.toString.contains("Cannot show the history of 'lake.db.nope'"), unknown)
    assert(intercept[Exception](history("max_scans => -1")).toString.contains("'max_scans'"))
  }
}
