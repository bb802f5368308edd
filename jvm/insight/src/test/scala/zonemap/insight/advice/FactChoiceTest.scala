// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import java.util.concurrent.TimeUnit

import org.apache.iceberg.BaseTable
import org.apache.iceberg.spark.Spark3Util

import zonemap.iceberg.fact.{FactBuild, FactLimit, FactRequest}
import zonemap.iceberg.snapshot.TableFacts
import zonemap.insight.StartedInsights
import zonemap.spark.job.SparkJobRunner

/** Facts that choose themselves: the turns on a table, with the budgets of a session. */
class FactChoiceTest extends AdviceCalls {
  private val files = 16
  private val plenty = FactBudget(1.0, 3600)

  /** A table in whose files the values of `mixed` and `wide` are random, and those of `p` are in each file. */
  private def create(name: String, rows: Int = 3200): String =
    createTable(
      s"lake.db.$name",
      s"SELECT id, pmod(id * 7919, $rows) AS mixed, pmod(id, 4) AS p FROM RANGE(0, $rows, 1, $files)",
      Some(rows * 3))

  private def iceberg(table: String): BaseTable =
    Spark3Util.loadIcebergTable(spark, table).asInstanceOf[BaseTable]

  private def query(table: String, conditions: Iterable[String]): Unit =
    conditions.foreach(condition => sql(s"SELECT * FROM $table WHERE $condition").collect(): Unit)

  private def turn(
      choice: FactChoice,
      table: String,
      budget: FactBudget = plenty,
      spent: HourlyTime = new HourlyTime(() => System.nanoTime()),
      observed: Option[Long] = None): Unit = {
    val loaded = iceberg(table)
    val observations = StartedInsights.of(runtime.parts).observations.newest
    choice.turn(
      runtime.process.iceberg,
      loaded,
      runtime.process.settings(spark),
      observations,
      observed.getOrElse(observations.count(_.tableUuid == loaded.uuid().toString).toLong),
      budget,
      spent,
      new SparkJobRunner(spark, loaded)
    )
  }

  private def facts(table: String): TableFacts = runtime.process.iceberg.index.factsOf(iceberg(table))

  private def chosen(table: String): Seq[String] =
    FactRequest.known(iceberg(table), facts(table)).filter(_.isChosen).map(_.text)

  private def note(table: String): String =
    sql(s"CALL zonemap.system.index_status(table => '$table')").collect().head.getAs[String]("chosen_facts")

  test("a fact that scans need is built, prunes, is built for new files, and belongs to a caller who asks for it") {
    val table = create("choice")
    val choice = new FactChoice
    query(table, (0 until FactChoice.LeastScans - 1).map(i => s"mixed = ${i * 31}"))
    turn(choice, table)
    assert(chosen(table).isEmpty && note(table).isEmpty)
    query(table, Seq("mixed = 7", "mixed = 8"))
    turn(choice, table)
    val fact = chosen(table)
    assert(fact.size == 1 && fact.head.endsWith("(mixed)"), fact)
    assert(note(table).startsWith(s"${fact.head}: chosen: "), note(table))
    assert(keptFiles(s"SELECT * FROM $table WHERE mixed = 77") < 4)
    assert(rows(sql(s"SELECT * FROM $table WHERE mixed = 77")).size == 1)
    // another process finds the mark in the version
    val store = runtime.process.iceberg.index.storeOf(iceberg(table), runtime.process.settings(spark))
    val stored = store.readVersion(iceberg(table).currentSnapshot().snapshotId()).get.facts
    assert(stored.nonEmpty && stored.forall(_.isChosen))
    // new files get it too
    sql(s"INSERT INTO $table SELECT id, id, 0 FROM RANGE(100000, 100100, 1, 1)")
    assert(runtime.process.iceberg.await(60000))
    turn(choice, table)
    assert(facts(table).refs.map(_.facts).sum == files + 1 && chosen(table) == fact)
    query(table, (0 until FactChoice.LeastScans).map(i => s"mixed = ${i * 17}"))
    turn(choice, table)
    assert(note(table).contains(s"${fact.head}: retained, because"), note(table))
    // a fact that a caller asks for is the caller's
    sql(s"CALL zonemap.system.build_index(table => '$table', facts => '${fact.head}')")
    assert(chosen(table).isEmpty && facts(table).refs.nonEmpty)
  }

  test("a chosen fact that prunes nothing is dropped, and a caller's fact is not") {
    val table = create("useless")
    val choice = new FactChoice
    val loaded = iceberg(table)
    val requests = FactRequest.parse("values(p), bloom(p)", loaded)
    new FactBuild(runtime.process.iceberg.index).build(
      loaded,
      loaded.currentSnapshot(),
      runtime.process.settings(spark),
      requests.map(r => if (r.text == "values(p)") r.copy(isChosen = true) else r),
      new SparkJobRunner(spark, loaded),
      FactLimit.Unlimited
    )
    assert(chosen(table) == Seq("values(p)"))
    query(table, (0 until FactChoice.LeastScans).map(i => s"p = ${i % 4}"))
    turn(choice, table)
    assert(FactRequest.known(loaded, facts(table)).map(_.text) == Seq("bloom(p)"))
    assert(note(table).startsWith("values(p): dropped, because "), note(table))
    assert(rows(sql(s"SELECT * FROM $table WHERE p = 1")).size == 800)
  }

  test("a fact stays when all files are rewritten, and is dropped when its column or its room is gone") {
    val table = create("rewritten")
    val choice = new FactChoice
    def ask() = query(table, (0 until FactChoice.LeastScans + 2).map(i => s"mixed = ${i * 31}"))
    ask()
    turn(choice, table)
    val fact = chosen(table)
    assert(fact.size == 1, note(table))
    ask()
    sql(
      s"CALL lake.system.rewrite_data_files(table => '${table.stripPrefix("lake.")}', options => " +
        "map('rewrite-all', 'true', 'max-file-group-size-bytes', '20000'))")
    sql(s"CALL zonemap.system.refresh_index(table => '$table')")
    ask()
    turn(choice, table)
    assert(chosen(table) == fact, note(table))
    val live = iceberg(table).currentSnapshot().summary().get("total-data-files").toInt
    assert(facts(table).refs.map(_.facts).sum == live, note(table))
    // a later turn with less room
    turn(choice, table, FactBudget(1e-9, 3600))
    assert(chosen(table) == fact, "some bytes are free")
    sql(s"ALTER TABLE $table DROP COLUMN mixed")
    query(table, (0 until FactChoice.LeastScans).map(i => s"p = $i"))
    turn(choice, table)
    assert(facts(table).refs.forall(!_.isChosen), facts(table).refs)
  }

  test("a fact beyond a budget is not built, and the status says so") {
    val table = create("budgets", rows = 320000)
    query(table, (0 until FactChoice.LeastScans).map(i => s"mixed = ${150000 + i * 31}"))
    turn(new FactChoice, table, FactBudget(1e-6, 3600))
    assert(chosen(table).isEmpty && note(table).contains("upkeep.autoFacts.maxShare has room for"), note(table))
    // each look at the clock is 20 seconds later
    var now = 0L
    val slow = new HourlyTime(() => { now += TimeUnit.SECONDS.toNanos(20); now })
    turn(new FactChoice, table, FactBudget(1.0, 60), slow)
    assert(
      chosen(table).isEmpty && note(table).contains("upkeep.autoFacts.maxSecondsPerHour has room for"),
      note(table))
    val none = note(table)
    while (slow.left(60) > 0) slow.count(()): Unit
    turn(new FactChoice, table, FactBudget(1.0, 60), slow)
    assert(chosen(table).isEmpty && note(table) == none)
    now += TimeUnit.HOURS.toNanos(1)
    assert(slow.left(60) == 60)
  }

  test("a session chooses facts only if its conf says so") {
    val table = create("by_conf")
    val wanted = (0 until FactChoice.LeastScans).map(i => s"mixed = ${i * 31}")
    query(table, wanted)
    assert(runtime.process.iceberg.facts.await(60000) && chosen(table).isEmpty)
    withConf("spark.sql.zonemap.upkeep.autoFacts.enabled" -> "true")(query(table, wanted))
    assert(runtime.process.iceberg.facts.await(60000))
    assert(chosen(table).size == 1)
  }
}
