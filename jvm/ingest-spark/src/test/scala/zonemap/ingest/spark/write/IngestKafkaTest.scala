// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.write

import java.nio.file.{Files, Paths}

import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.Encoders
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream

import zonemap.ingest.kafka.KafkaBroker
import zonemap.ingest.spark.IngestSession

/** The sink and the procedures with a queue in a topic of a real broker; the commands of docs/guide/ingest-kafka.md. */
class IngestKafkaTest extends IngestSession {
  private lazy val broker = KafkaBroker.shared
  private lazy val page = Files.readString(Paths.get("docs/guide/ingest-kafka.md"))

  private def blocks(language: String): Seq[String] =
    s"(?ms)^```$language\\n(.*?)^```$$".r.findAllMatchIn(page).map(_.group(1)).toSeq

  private def topic(table: String): String = s"zonemap-ingest-${Spark3Util.loadIcebergTable(spark, table).uuid()}"

  test("the commands of the page: a table whose properties choose Kafka, a batch, a commit and the status") {
    val t = create("arrivals", "id BIGINT, kind STRING")
    val statements = blocks("sql").flatMap(_.split(';')).map(_.trim).filter(_.nonEmpty)
    assert(statements.head.startsWith("ALTER TABLE lake.db.arrivals SET TBLPROPERTIES") && statements.size >= 3)
    sql(statements.head.replace("broker1:9092,broker2:9092", broker.servers))
    append(sql("SELECT id, 'opened' AS kind FROM range(10)"), t)
    assert(read(t).isEmpty)
    val status = call(s"ingest_status(table => '$t')")
    assert(status.getAs[Long]("pending_records") == 1 && status.getAs[String]("problem") == "no committer has run")
    assert(status.getAs[String]("queue") == s"kafka topic ${topic(t)} at ${broker.servers}")
    val rows = statements.tail.map(statement => statement -> sql(statement).collect())
    assert(rows.head._2.map(_.getAs[String]("outcome")).toSeq == Seq("committed"), rows.head)
    assert(read(t).size == 10 && call(s"ingest_status(table => '$t')").getAs[Long]("pending_records") == 0)
  }

  test("a stream into a topic, committed by a committer in the driver; confs choose the queue") {
    val t = create("kafka_stream", "id BIGINT")
    withConf(
      "spark.sql.zonemap.ingest.queue" -> "kafka",
      "spark.sql.zonemap.ingest.kafka.bootstrapServers" -> broker.servers,
      "spark.sql.zonemap.ingest.interval" -> "100ms"
    ) {
      assert(call(s"ingest_start(table => '$t')").getBoolean(0))
      try {
        val stream = MemoryStream[java.lang.Long](spark, 2)(Encoders.LONG)
        val checkpoint = newFolder("checkpoint").toString
        for (k <- 0 until 3) {
          stream.addData((k * 10 until k * 10 + 10).map(i => java.lang.Long.valueOf(i.toLong)))
          runOnce(stream.toDF().selectExpr("value AS id").writeStream.option("checkpointLocation", checkpoint), t)
        }
        val waited = sql(s"CALL zonemap.system.ingest_wait(table => '$t', timeout_seconds => 60)").collect()
        assert(waited.forall(_.getAs[String]("state") == "visible"))
        assert(read(t).size == 30)
      } finally assert(call(s"ingest_stop(table => '$t')").getBoolean(0)): Unit
    }
    assert(errorOf(append(sql("SELECT 1L AS id"), t)).contains(s"its queue is the Kafka topic '${topic(t)}'"))
  }

  test("a kind of queue that does not exist is refused") {
    val t = create("kafka_unknown", "id BIGINT")
    withConf("spark.sql.zonemap.ingest.queue" -> "jdbc") {
      assert(errorOf(append(sql("SELECT 1L AS id"), t)).contains("allowed are spool, kafka, or empty"))
    }
  }
}
