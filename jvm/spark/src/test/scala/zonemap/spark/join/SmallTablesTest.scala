// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import java.util.concurrent.atomic.AtomicInteger

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

import zonemap.core.value.LongValue
import zonemap.iceberg.plan.ZoneMapTable
import zonemap.iceberg.registry.{HeldRows, RowsKey, SnapshotRows, TableIndex}
import zonemap.spark.{PlanningCounters, SharedSession}

class SmallTablesTest extends SharedSession {

  /** 20 files of five ids each. */
  private lazy val fact: String = {
    val table = "lake.db.small_fact"
    sql(s"CREATE OR REPLACE TABLE $table (id BIGINT) USING iceberg TBLPROPERTIES ('write.distribution-mode' = 'none')")
    sql(s"INSERT INTO $table SELECT /*+ REPARTITION_BY_RANGE(20, id) */ id FROM RANGE(100)")
    build(table)
    table
  }

  private def dimension(name: String): String = {
    val table = s"lake.db.$name"
    sql(
      s"CREATE OR REPLACE TABLE $table USING iceberg AS SELECT /*+ COALESCE(1) */ id AS k, concat('n', id) AS name, " +
        "id % 10 AS tens FROM RANGE(0, 100, 7)")
    build(table)
    table
  }

  private lazy val keys: String = dimension("small_keys")

  private def joined(of: String, condition: String): DataFrame =
    sql(s"SELECT f.id FROM $fact f JOIN $of k ON f.id = k.k WHERE $condition")

  private def tables(frame: DataFrame): Seq[ZoneMapTable] =
    frame.queryExecution.optimizedPlan
      .collect { case scan: DataSourceV2ScanRelation => scan.relation.table }
      .collect { case table: SparkTable => table.table() }
      .collect { case ours: ZoneMapTable => ours }

  private def notes(frame: DataFrame): Seq[String] =
    tables(frame).flatMap(_.notes().toArray.toSeq.map(_.toString))

  private def held(frame: DataFrame): HeldRows = indexOf(frame).rows
  private def indexOf(frame: DataFrame): TableIndex =
    tables(frame).find(_.baseName.contains("small_fact")).fold(fail())(_ => dimensionOf(frame)).pinned.known
  private def dimensionOf(frame: DataFrame): ZoneMapTable =
    tables(frame).find(!_.baseName.contains("small_fact")).getOrElse(fail())

  test("files are pruned by the rows of a small table, and applying the rule again changes nothing") {
    val frame = joined(keys, "k.name IN ('n14', 'n70')")
    assert(notes(frame).exists(_.matches("join pruning on id: \\d+ -> 2 files")), notes(frame))
    val plan = frame.queryExecution.optimizedPlan
    assert(StaticJoinRule(plan) eq plan)
    assert(rows(frame) == Seq("[14]", "[70]"))
  }

  test("the switch, and the number of rows") {
    Seq("enabled" -> "false", "maxRows" -> "14").foreach { case (name, value) =>
      withConf(s"spark.sql.zonemap.join.smallTables.$name" -> value) {
        assert(notes(joined(keys, "k.name = 'n14'")).isEmpty, name)
      }
    }
    withConf("spark.sql.zonemap.join.smallTables.maxRows" -> "15") {
      assert(notes(joined(keys, "k.name = 'n14'")).size == 1)
    }
  }

  test("each column is read once for each snapshot, and no scan of the index is counted") {
    val table = dimension("small_read_once")
    notes(joined(table, "k.name = 'n1'")): Unit // indexes both tables
    val before = PlanningCounters.plannedScans()
    val frame = joined(table, "k.name = 'n14'")
    assert(notes(frame).size == 1)
    val first = held(frame)
    val key = keyOf(frame)
    val read = first.get(key).getOrElse(fail())
    assert(read.count == 15 && read.columns.size == 2)
    assert(notes(joined(table, "k.name = 'n70'")).size == 1)
    assert(first.get(key).exists(_ eq read))
    assert(notes(joined(table, "k.tens = 4")).size == 1)
    assert(first.get(key).exists(_.columns.size == 3))
    // two scans of each of these three queries
    assert(PlanningCounters.plannedScans() - before == 6)
    sql(s"INSERT INTO $table VALUES (3, 'n14', 3)")
    assert(notes(joined(table, "k.name = 'n14'")).exists(_.endsWith("-> 2 files")))
  }

  test("the rows count as memory of the index, which releases them first") {
    val table = dimension("small_released")
    val frame = joined(table, "k.name = 'n14'")
    assert(notes(frame).size == 1)
    val index = indexOf(frame)
    val (all, bytes) = (index.residentBytes, index.rows.bytes)
    assert(bytes > 15 * 16 && all > bytes)
    val registry = runtime.process.iceberg.index.tables
    val ofAll = registry.known.map(_._2.rows.bytes).sum
    registry.shrinkTo(registry.residentBytes - ofAll)
    assert(index.rows.bytes == 0 && index.residentBytes == all - bytes)
    assert(notes(joined(table, "k.name = 'n14'")).size == 1)
    assert(index.rows.bytes == bytes)
  }

  test("a function of a user is not called while the query is planned") {
    val calls = new AtomicInteger
    SmallTablesTest.calls = calls
    spark.udf.register("counted", (value: Long) => { SmallTablesTest.calls.incrementAndGet(); value * 10 }): Unit
    val frame = joined(keys, "counted(k.k) = 140")
    // the keys are those of all rows
    assert(notes(frame) == Seq("join pruning on id: 20 -> 15 files") && calls.get == 0)
    assert(rows(frame) == Seq("[14]") && calls.get > 0)
  }

  test("rows that cannot be read are not tried again for each query") {
    val table = dimension("small_lost")
    notes(joined(table, "k.name = 'n1'")): Unit
    sql(s"INSERT INTO $table SELECT /*+ COALESCE(1) */ id, 'n14', 1 FROM RANGE(3)")
    sql(s"SELECT file_path FROM $table.files").collect().foreach { row =>
      assert(new java.io.File(row.getString(0).stripPrefix("file:")).delete())
    }
    val frame = joined(table, "k.name = 'n14'")
    assert(notes(frame).isEmpty)
    assert(held(frame).isRefused(keyOf(frame)) && held(frame).get(keyOf(frame)).isEmpty)
  }

  test("a condition on a float above a grouping, which makes one zero of both, removes no row below it") {
    val table = "lake.db.small_zeros"
    sql(
      s"CREATE OR REPLACE TABLE $table USING iceberg AS SELECT /*+ COALESCE(1) */ * FROM VALUES " +
        "(7L, -0.0D), (14L, 0.0D), (21L, 1.0D) AS v(k, x)")
    build(table)
    def values(having: String) = {
      val grouped = sql(s"SELECT k, x, count(*) n FROM $table GROUP BY k, x HAVING $having").queryExecution.analyzed
      val plan = runtime.swapRule(grouped)
      val found = KeySource.ofRows.valuesOf(plan, plan.output.head).getOrElse(fail(plan.toString))
      Seq(7L, 14L, 21L).filter(k => found.contains(LongValue(k)))
    }
    assert(values("CAST(x AS STRING) = '0.0'") == Seq(7L, 14L, 21L))
    assert(values("k > 7L") == Seq(14L, 21L))
  }

  test("few snapshots are held, the newest ones") {
    val rows = new HeldRows
    def key(id: Int) = RowsKey(id.toLong, s"v$id")
    (1 to 9).foreach { id =>
      rows.put(key(id), new SnapshotRows(Map.empty, id, 10))
      rows.refuse(key(100 + id))
    }
    assert((1 to 9).filter(id => rows.get(key(id)).isDefined) == (6 to 9) && rows.bytes == 40)
    assert((101 to 109).filter(id => rows.isRefused(key(id))) == (106 to 109))
    rows.refuse(key(9))
    assert(rows.get(key(9)).isEmpty && rows.bytes == 30)
    rows.release()
    assert(rows.bytes == 0)
  }

  private def keyOf(frame: DataFrame): RowsKey = {
    val of = dimensionOf(frame)
    RowsKey(of.pinned.snapshotId.get, of.operations().current().metadataFileLocation())
  }
}

private object SmallTablesTest {

  /** Tasks run in this JVM, so the function reaches the counter of the test. */
  @volatile var calls = new AtomicInteger
}
