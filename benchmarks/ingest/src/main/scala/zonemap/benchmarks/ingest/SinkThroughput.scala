// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.ingest

import java.nio.file.{Files, Path}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.{Snapshot, Table}
import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.StreamingQuery

import zonemap.benchmarks.planning.{BenchmarkSession, Measure}
import zonemap.benchmarks.strategies.Stats
import zonemap.iceberg.snapshot.SnapshotKey
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * One streaming query with six columns: through Iceberg's own sink, and through the queue with a committer in the same
 * driver. The index follows the commits of both. Each sink takes turns of some epochs; the first epoch of a turn, which
 * starts the query, does not count.
 */
final class SinkThroughput(folder: Path, rows: Int, turns: Int, epochs: Int) {
  private val spark = session()
  private val epochMillis =
    Map("direct" -> mutable.ArrayBuffer.empty[Seq[Double]], "queue" -> mutable.ArrayBuffer.empty[Seq[Double]])
  private val cpuMillis =
    Map("direct" -> mutable.ArrayBuffer.empty[Double], "queue" -> mutable.ArrayBuffer.empty[Double])

  def run(): Map[String, Any] = {
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.db")
    val tables = Seq("direct", "queue").map(way => way -> create(way)).toMap
    spark.sql("CALL zonemap.system.ingest_start(table => 'lake.db.queue')").collect()
    Seq("direct", "queue").foreach(turn(_, counts = false))
    drain()
    tables.keys.foreach(way => spark.sql(s"CALL zonemap.system.build_index(table => 'lake.db.$way')").collect())
    val coverage = new Coverage(tables("queue"))
    coverage.start()
    (0 until turns).foreach { n =>
      val order = if (n % 2 == 0) Seq("direct", "queue") else Seq("queue", "direct")
      order.foreach(turn(_, counts = true))
    }
    drain()
    UpkeepProcess.ofJvm.upkeep.await(120000)
    val indexed = coverage.stop()
    spark.sql("CALL zonemap.system.ingest_stop(table => 'lake.db.queue')").collect()
    val figures = result(indexed)
    spark.stop()
    figures
  }

  private def drain(): Unit =
    spark.sql("CALL zonemap.system.ingest_wait(table => 'lake.db.queue', timeout_seconds => 120)").collect(): Unit

  private def session(): SparkSession = {
    Files.createDirectories(folder)
    BenchmarkSession.withLake(
      folder.resolve("warehouse").toString,
      Map(
        "spark.sql.shuffle.partitions" -> "2",
        "spark.sql.catalog.lake.type" -> "jdbc",
        "spark.sql.catalog.lake.uri" -> s"jdbc:sqlite:$folder/sink.db?busy_timeout=20000",
        "spark.sql.catalog.lake.jdbc.schema-version" -> "V1",
        "spark.sql.catalog.zonemap" -> "zonemap.spark.ZoneMapCatalog",
        "spark.sql.zonemap.ingest.interval" -> s"${SinkThroughput.IntervalMillis}ms"
      )
    )
  }

  private def create(name: String): Table = {
    spark.sql(s"""CREATE TABLE lake.db.$name (id BIGINT, ts TIMESTAMP, device BIGINT, metric INT, value DOUBLE,
      host STRING) USING iceberg TBLPROPERTIES ('write.distribution-mode' = 'none')""")
    Spark3Util.loadIcebergTable(spark, s"lake.db.$name")
  }

  /** Some epochs of one sink; the query goes on from its checkpoint. */
  private def turn(way: String, counts: Boolean): Unit = {
    val (query, cost) = Measure.run {
      val query = start(way)
      while (query.isActive && done(query) <= epochs) Thread.sleep(10)
      query.exception.foreach(throw _)
      query.stop()
      query
    }
    val millis =
      query.recentProgress.toSeq.filter(_.numInputRows > 0).map(_.durationMs.get("triggerExecution").doubleValue())
    if (counts) {
      epochMillis(way) += millis.drop(1).take(epochs)
      cpuMillis(way) += cost.cpuMillis / millis.size
    }
  }

  private def done(query: StreamingQuery): Int = query.recentProgress.count(_.numInputRows > 0)

  private def start(way: String): StreamingQuery = {
    val source = spark.readStream
      .format("rate-micro-batch")
      .option("rowsPerBatch", rows.toLong)
      .option("numPartitions", 4L)
      .load()
      .selectExpr(
        "value AS id",
        "timestamp AS ts",
        "CAST(pmod(hash(value), 100000) AS BIGINT) AS device",
        "CAST(pmod(hash(value, 1), 5000) AS INT) AS metric",
        "pmod(hash(value, 2), 1000000) / 100D AS value",
        "concat('host-', pmod(hash(value, 3), 64)) AS host"
      )
    val writer = source.writeStream.option("checkpointLocation", folder.resolve(s"checkpoint-$way").toString)
    if (way == "direct") writer.toTable(s"lake.db.$way")
    else writer.format("zonemap-ingest").start(s"lake.db.$way")
  }

  private def result(indexedMillis: Seq[Double]): Map[String, Any] = {
    val (direct, queue) =
      (epochMillis("direct").map(t => Measure.median(t)), epochMillis("queue").map(t => Measure.median(t)))
    val (loss, from, to) = Stats.interval(direct.indices.map(n => 1 - direct(n) / queue(n)))
    val live = spark.sql("SELECT count(*), count(DISTINCT id), max(id) + 1 FROM lake.db.queue").collect().head
    Map(
      "rowsAnEpoch" -> rows,
      "turns" -> turns,
      "epochsATurn" -> epochs,
      "intervalMillis" -> SinkThroughput.IntervalMillis,
      "directRowsPerSecond" -> rows / Measure.median(epochMillis("direct").flatten.toSeq) * 1000,
      "queueRowsPerSecond" -> rows / Measure.median(epochMillis("queue").flatten.toSeq) * 1000,
      "loss" -> loss,
      "lossFrom" -> from,
      "lossTo" -> to,
      "directCpuMillisAnEpoch" -> Measure.median(cpuMillis("direct").toSeq),
      "queueCpuMillisAnEpoch" -> Measure.median(cpuMillis("queue").toSeq),
      "commits" -> indexedMillis.size,
      "committedToIndexedMillisP50" -> Measure.median(indexedMillis),
      "committedToIndexedMillisP99" -> Stats.quantile(indexedMillis, 0.99),
      "lostRows" -> (live.getLong(2) - live.getLong(1)),
      "doubledRows" -> (live.getLong(0) - live.getLong(1))
    )
  }
}

object SinkThroughput {
  val IntervalMillis = 1000L
}

/** Notes when the index of this process covers each new snapshot of a table. */
final class Coverage(table: Table) {
  private val covered = mutable.Map.empty[SnapshotKey, Long]
  private val before = snapshots().map(_.snapshotId()).toSet
  @volatile private var isOver = false
  private val thread = new Thread(() => watch(), "coverage")

  def start(): Unit = {
    thread.setDaemon(true)
    thread.start()
  }

  private def watch(): Unit = while (!isOver) {
    look()
    Thread.sleep(2)
  }

  private def look(): Unit = {
    val now = System.currentTimeMillis()
    UpkeepProcess.ofJvm.index.tables.of(table).covered.keys.foreach(covered.getOrElseUpdate(_, now))
  }

  /**
   * The milliseconds from the time of each snapshot, which is a little before its commit, until the index covers it or a
   * later one: upkeep leaves out snapshots when it is behind.
   */
  def stop(): Seq[Double] = {
    isOver = true
    thread.join()
    look()
    val found = snapshots().sortBy(_.sequenceNumber())
    val times = found.map(snapshot => covered.getOrElse(SnapshotKey.of(snapshot), Long.MaxValue))
    val first = times.scanRight(Long.MaxValue)(math.min).init // of the snapshot and all later ones
    require(first.forall(_ < Long.MaxValue), "the index does not cover the last snapshot")
    found.zip(first).collect {
      case (snapshot, at) if !before(snapshot.snapshotId()) => (at - snapshot.timestampMillis()).toDouble
    }
  }

  private def snapshots(): Seq[Snapshot] = {
    table.refresh()
    table.snapshots().asScala.toSeq
  }
}
