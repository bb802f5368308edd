// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.commit

import java.lang.management.ManagementFactory
import javax.management.ObjectName

import scala.jdk.CollectionConverters._

import zonemap.spark.SharedSession

/** The metrics as Spark's JMX sink shows them; the sink reads Spark's metrics system. */
class IngestMetricsTest extends SharedSession {
  private val server = ManagementFactory.getPlatformMBeanServer

  private def beans: Map[String, ObjectName] = server
    .queryNames(new ObjectName("metrics:*"), null)
    .asScala
    .flatMap(bean => bean.getKeyProperty("name").split("\\.driver\\.zonemap\\.", 2).lift(1).map(_ -> bean))
    .toMap

  private def value(name: String, attribute: String): Long =
    server.getAttribute(beans(name), attribute).asInstanceOf[Number].longValue

  private def gauge(name: String): Long = value(name, "Value")

  private def eventually(holds: => Boolean): Unit = {
    val deadline = System.nanoTime() + 60L * 1000000000
    while (!holds && System.nanoTime() < deadline) Thread.sleep(50)
    assert(holds): Unit
  }

  test("a committer shows the appends that wait, and its commits") {
    val table = newTable("metrics_ingest")
    sql(s"CALL zonemap.system.ingest_pause(table => '$table', reason => 'a test')")
    sql(s"SELECT * FROM $table WHERE id = 12").write.format("zonemap-ingest").mode("append").save(table)
    sql(s"CALL zonemap.system.ingest_start(table => '$table')")
    try {
      eventually(gauge("ingest.pendingRecords") == 1 && gauge("ingest.oldestPendingMillis") > 0)
      assert(gauge("ingest.committers") == 1 && gauge("ingest.failing") == 0 && gauge("ingest.commits") == 0)
      sql(s"CALL zonemap.system.ingest_resume(table => '$table')")
      eventually(gauge("ingest.commits") == 1 && gauge("ingest.pendingRecords") == 0)
      assert(gauge("ingest.attempts") == 1 && gauge("ingest.quarantined") == 0)
      assert(gauge("ingest.oldestPendingMillis") == 0)
    } finally sql(s"CALL zonemap.system.ingest_stop(table => '$table')"): Unit
    assert(gauge("ingest.committers") == 0)
  }
}
