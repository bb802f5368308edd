// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.metrics

import java.lang.management.ManagementFactory
import javax.management.ObjectName

import scala.jdk.CollectionConverters._

import zonemap.iceberg.report.StockReason
import zonemap.spark.SharedSession

/** The metrics as Spark's JMX sink shows them; the sink reads Spark's metrics system. */
class DriverMetricsTest extends SharedSession {
  private val server = ManagementFactory.getPlatformMBeanServer

  private def beans: Map[String, ObjectName] = server
    .queryNames(new ObjectName("metrics:*"), null)
    .asScala
    .flatMap(bean => bean.getKeyProperty("name").split("\\.driver\\.zonemap\\.", 2).lift(1).map(_ -> bean))
    .toMap

  private def value(name: String, attribute: String): Long =
    server.getAttribute(beans(name), attribute).asInstanceOf[Number].longValue

  private def count(name: String): Long = value(name, "Count")
  private def gauge(name: String): Long = value(name, "Value")

  test("a plan from the index counts as exact once its query has run, with its files and its time") {
    val table = newTable("metrics_exact")
    build(table)
    val (exact, considered, planned) = (count("plans.exact"), count("files.considered"), count("files.planned"))
    val times = count("planningMicros")
    sql(s"EXPLAIN SELECT id FROM $table WHERE id = 12").collect()
    assert(sql(s"SELECT id FROM $table WHERE id = 12").count() == 1)
    eventually(count("plans.exact") - exact == 1)
    runtime.runs.await(spark.sparkContext)
    assert(count("plans.exact") - exact == 1)
    assert(count("files.considered") - considered == 5)
    assert(count("files.planned") - planned == 1)
    assert(count("planningMicros") - times == 1)
    assert(value("planningMicros", "Max") > 0)

    sql(s"ALTER TABLE $table SET TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')")
    sql(s"DELETE FROM $table WHERE id = 12")
    eventually(count("plans.exact") - exact == 2)
    assert(count("files.planned") - planned == 2, "the scan of a command's target runs, too")
  }

  test("a plan of Iceberg counts under its reason") {
    val table = newTable("metrics_stock")
    val (stock, notCovered) = (count("plans.stock"), count("plans.stock.NOT_COVERED"))
    assert(sql(s"SELECT id FROM $table WHERE id = 12").count() == 1)
    eventually(count("plans.stock") - stock == 1)
    assert(count("plans.stock.NOT_COVERED") - notCovered == 1)
  }

  test("each reason has a counter from the start") {
    sql("SELECT 1").collect()
    assert(StockReason.catalogue.map(_._1).forall(code => beans.contains(s"plans.stock.$code")))
  }

  test("the memory of the index is the sum over the tables in status, and stays under its cap") {
    val table = newTable("metrics_memory")
    forgetIndexes()
    build(table)
    val status = sql(s"CALL zonemap.system.index_status('$table')").select("memory_bytes").head().getLong(0)
    assert(status > 0)
    assert(gauge("index.residentBytes") == status)
    assert(gauge("index.tables") == 1)
    assert(gauge("index.residentBytes") <= gauge("index.maxBytes"))
  }

  test("upkeep has used CPU time and nothing waits when its queue is empty") {
    val table = newTable("metrics_upkeep")
    build(table)
    val cpu = runtime.process.iceberg.upkeep.cpuNanos
    withConf("spark.sql.zonemap.upkeep.mode" -> "persist") {
      assert(sql(s"SELECT id FROM $table WHERE id = 12").count() == 1)
      sql(s"INSERT INTO $table VALUES (99, 1, 'x')")
      assert(zonemap.spark.PlanningCounters.awaitUpkeep(60000))
    }
    assert(runtime.process.iceberg.upkeep.cpuNanos > cpu)
    assert(gauge("upkeep.cpuMillis") == runtime.process.iceberg.upkeep.cpuNanos / 1000000)
    assert(gauge("upkeep.waiting") == 0)
    assert(gauge("upkeep.oldestWaitingMillis") == 0)
  }

  private def eventually(holds: => Boolean): Unit = {
    val deadline = System.nanoTime() + 60L * 1000000000
    while (!holds && System.nanoTime() < deadline) Thread.sleep(50)
    assert(holds): Unit
  }
}
