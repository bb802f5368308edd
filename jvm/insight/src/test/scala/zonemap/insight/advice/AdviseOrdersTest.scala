package zonemap.insight.advice

import org.apache.spark.sql.Row

/** `advise` on orders of several columns, Z-orders and sizes of files, compared with tables that are really rewritten. */
class AdviseOrdersTest extends AdviceCalls {
  private val files = 64

  private val rows = s"""SELECT id, pmod(id * 7919, 6400) AS a, pmod(hash(id), 6400) AS b, pmod(id, 8) AS k
                        |  FROM RANGE(0, 12800, 1, $files)""".stripMargin

  private def create(name: String, fileBytes: Option[Int] = Some(8192)): String =
    createTable(s"lake.db.$name", rows, fileBytes)

  private lazy val table: String = create("orders_unsorted")

  private def queries(of: String, conditions: Seq[String]): Seq[String] =
    conditions.map(condition => s"SELECT * FROM $of WHERE $condition")

  /** Runs the advised statement on a table with the same rows, and compares the files that the scans keep. */
  private def assertRewritten(name: String, conditions: Seq[String], order: String): Row = {
    val row = only(advise(table, queries(table, conditions): _*), "sort")
    assert(text(row, "subject") == order && text(row, "statement").contains(s"sort_order => '$order'"), row)
    val rewritten = create(name)
    sql(text(row, "statement").replace(s"'$table'", s"'$rewritten'")).collect()
    build(rewritten)
    assertClose(row, queries(rewritten, conditions).map(keptFiles).sum, conditions.size)
    row
  }

  test("scans by two columns, each alone: a Z-order, which is compared with sorts") {
    val ranges = Seq(100, 2500, 5000)
    val conditions = ranges.map(v => s"a BETWEEN $v AND ${v + 199}") ++ ranges.map(v => s"b BETWEEN $v AND ${v + 199}")
    val row = assertRewritten("orders_z", conditions, "zorder(a, b)")
    val message = text(row, "message")
    assert(message.matches(
      "a Z-order of `a` and `b` would keep about \\d+ files instead of \\d+ for 6 scans; compared with a sort by `.` " +
        "about \\d+ files \\(.*B\\), a sort by `.`, then `.` about \\d+ files \\(.*B\\); it rewrites the table"))
  }

  test("scans by a few values of one column and ranges of another: a sort by both in this order") {
    val conditions = Seq(1, 3, 6).map(k => s"k = $k AND a BETWEEN ${k * 700} AND ${k * 700 + 1599}")
    assertRewritten("orders_both", conditions, "k, a")
  }

  test("the weight of a condition is the number of its scans: mostly one column is sorted by alone") {
    val conditions = Seq.fill(40)("a BETWEEN 100 AND 299") :+ "b BETWEEN 100 AND 299"
    assert(text(only(advise(table, queries(table, conditions): _*), "sort"), "subject") == "a")
  }

  test("conditions that keep most rows in any order: no sort and no Z-order helps") {
    val found = advise(table, queries(table, Seq("a > 100", "b > 100")): _*)
    val message = text(only(found, "no help", _ == "sort order"), "message")
    assert(message.startsWith("no sort and no Z-order keeps clearly fewer than the 128 files that 2 scans keep now"))
  }

  test("a rewrite of many small files makes files of the table's target size, and keeps about the estimated ones") {
    val target = 65536
    val small = create("orders_small", Some(target))
    val conditions = Seq("a = 77", "a BETWEEN 3000 AND 3100")
    val row = only(advise(small, queries(small, conditions): _*), "sort")
    assert(text(row, "statement").contains(s"'target-file-size-bytes', '$target'"), row)
    val expected = "into about (\\d+) files".r.findFirstMatchIn(text(row, "message")).map(_.group(1).toLong).get
    assert(expected > 1 && count(row, "bytes_after") < count(row, "bytes_before"), row)
    sql(text(row, "statement")).collect()
    build(small)
    val real = sql(s"SELECT * FROM $small.files").count()
    println(s"advice ${text(row, "subject")}: a rewrite into about $expected files, really $real, of $files")
    assert(expected <= 2 * real && real <= 2 * expected, s"really $real files: $row")
    assertClose(row, queries(small, conditions).map(keptFiles).sum, conditions.size)
  }

  test("a sort of a table that fits into one file of the target size does not help") {
    val tiny = create("orders_tiny", None)
    val message = text(only(advise(tiny, queries(tiny, Seq("a = 77")): _*), "no help", _ == "sort order"), "message")
    assert(message.startsWith("no sort by one column keeps clearly fewer bytes than the "), message)
    assert(
      message.endsWith("; a rewrite makes about 1 file of at most 536.9 MB (write.target-file-size-bytes)"),
      message)
  }
}
