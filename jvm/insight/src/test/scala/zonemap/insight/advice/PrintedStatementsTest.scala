// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import zonemap.iceberg.report.SqlText

/** Each statement that the procedures print runs verbatim, for names that need quotes, under both modes of the parser. */
class PrintedStatementsTest extends AdviceCalls {
  private val table = "lake.db.`it's ``a`` täble.x`"

  private val columns =
    Seq("a.b", "we`ird", "it's", "sp ace", "UPPER", "ünï", "back\\slash", "comma,par(en", "2nd", "order")

  private def backquoted(name: String): String = s"`${name.replace("`", "``")}`"

  private val conditions: Seq[String] = columns.map(backquoted) :+ "nested.`in ner`"

  private val Call = "CALL zonemap\\.system\\.\\w+\\(.*?\\)(?= gives| indexes| if |\\.( |$))".r

  private def callsIn(text: String): Seq[String] = Call.findAllIn(text).toSeq

  private def call(procedure: String, arguments: String) =
    sql(s"CALL zonemap.system.$procedure($arguments)").collect().toSeq

  private val named = s"table => ${SqlText.literal(table)}"

  private def messageOf(body: => Any): String = {
    val error = intercept[Exception](body)
    Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.getMessage).mkString(" | ")
  }

  private def create(): Unit = {
    val values = columns.zipWithIndex.map { case (c, i) => s"pmod(id * ${7919 + 2 * i}, 40009) AS ${backquoted(c)}" }
    sql(s"DROP TABLE IF EXISTS $table")
    sql(s"""CREATE TABLE $table USING iceberg TBLPROPERTIES ('write.distribution-mode' = 'none',
           |  'write.target-file-size-bytes' = '8192', 'write.metadata.metrics.default' = 'full') AS
           |  SELECT ${values.mkString(", ")}, named_struct('in ner', pmod(id * 9973, 40009)) AS nested
           |  FROM RANGE(0, 400, 1, 4)""".stripMargin)
  }

  /** What the messages about a table without an index tell to run. */
  private def ofErrors: Seq[String] = {
    create()
    val calls = Seq(
      messageOf(call("clustering_information", s"$named, columns => array('UPPER')")),
      messageOf(call("advise", s"$named, queries => array(${SqlText.literal(s"SELECT * FROM $table")})")),
      messageOf(call("verify", named))
    ).map(callsIn)
    assert(calls.forall(_.nonEmpty), calls)
    val stock = call("why_not", s"query => ${SqlText.literal(s"SELECT * FROM $table WHERE UPPER = 3")}")
    val remedies = stock.flatMap(row => callsIn(text(row, "remedy")))
    assert(remedies.nonEmpty, stock)
    calls.flatten ++ remedies
  }

  /** What `advise` and `why_not` print for a condition on each column. */
  private lazy val ofColumns: Seq[String] = {
    sql(s"ALTER TABLE $table SET TBLPROPERTIES ('write.metadata.metrics.default' = 'none')")
    conditions.flatMap { column =>
      val query = SqlText.literal(s"SELECT * FROM $table WHERE $column = 20000")
      val advice = call("advise", s"$named, queries => array($query)")
      val statements = advice.map(text(_, "statement")).filter(_.nonEmpty)
      assert(
        Seq("sort", "fact", "metrics").forall(kind => advice.exists(text(_, "advice") == kind)),
        s"$column: $advice")
      val remedies = call("why_not", s"query => $query").flatMap(row => callsIn(text(row, "remedy")))
      assert(remedies.count(_.contains("facts =>")) == 1 && remedies.size == 2, s"$column: $remedies")
      statements ++ remedies
    }
  }

  private def run(statement: String): Unit =
    try sql(statement).collect(): Unit
    catch { case e: Exception => fail(s"$statement\n$e", e) }

  test("each printed statement runs") {
    ofErrors.distinct.foreach(run)
    val sorted = ofColumns.filter(_.contains("rewrite_data_files"))
    assert(sorted.size == conditions.size, sorted)
    val others = ofColumns.filterNot(_.contains("rewrite_data_files")).distinct
    others.foreach(run)
    // the name of the table has one quote, and these have another one or a backslash
    val withQuotes = others.filter(s => "char\\(|\\\\".r.findAllIn(s).size > 1)
    assert(withQuotes.size == 3, withQuotes)
    withConf("spark.sql.parser.escapedStringLiterals" -> "true")(withQuotes.foreach(run))
    sorted.foreach(run)
    withConf("spark.sql.parser.escapedStringLiterals" -> "true")(sorted.take(1).foreach(run))
    val modes = sql(s"SHOW TBLPROPERTIES $table").collect().map(_.getString(0)).toSet
    val missing = (columns :+ "nested.in ner").filterNot(c => modes(s"write.metadata.metrics.column.$c"))
    assert(missing.isEmpty, modes)
  }

  test("the facts of a key of a map, in any notation of the key and within a struct") {
    val maps = "lake.db.printed_maps"
    sql(s"DROP TABLE IF EXISTS $maps")
    sql(
      s"CREATE TABLE $maps USING iceberg AS SELECT map('it\\'s', id, 'k', id) AS `od d`, named_struct('m', map('k', id)) AS n " +
        "FROM RANGE(0, 40, 1, 4)")
    build(maps)
    for (condition <- Seq("`od d`['it\\'s'] = 5", "element_at(`od d`, 'k') = 6", "n.m['k'] = 7")) {
      val query = SqlText.literal(s"SELECT * FROM $maps WHERE $condition")
      val rows = call("why_not", s"query => $query")
      val remedy = rows.map(text(_, "remedy")).find(_.contains("facts =>")).getOrElse(fail(rows.mkString("\n")))
      callsIn(remedy).foreach(run)
      val found = call("why_not", s"query => $query").map(text(_, "decided_by"))
      assert(found.exists(_.contains("the fact ")), s"$remedy\n$found")
    }
  }

  test("a choice of columns, and a sort by a column with quotes") {
    run(s"CALL zonemap.system.build_index($named, columns => array('UPPER'))")
    val query = conditions.map(c => s"$c = 20000").mkString(s"SELECT * FROM $table WHERE ", " AND ", "")
    val advice = call("advise", s"$named, facts => false, queries => array(${SqlText.literal(query)})")
    val chosen = only(advice, "columns")
    run(text(chosen, "statement"))
    val again = call("advise", s"$named, facts => false, queries => array(${SqlText.literal(query)})")
    assert(!again.exists(text(_, "advice") == "columns"), again)
    val order = SqlText.sortKey("it's")
    run(
      s"CALL lake.system.rewrite_data_files($named, strategy => 'sort', sort_order => ${SqlText.literal(order)}, " +
        "options => map('rewrite-all', 'true'))")
  }
}
