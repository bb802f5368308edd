// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.strategies

import java.nio.file.{Path, Paths}
import java.util.concurrent.TimeUnit.{NANOSECONDS, SECONDS}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.{SnapshotSummary, Table}
import org.apache.iceberg.hadoop.HadoopCatalog
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import zonemap.benchmarks.planning.{BenchmarkFiles, BenchmarkSession, Measure}
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * A structured streaming query that appends 43,000 records a second to a table with a past, and beside it a reader of
 * the last minute and of a minute of the past: with the index, and without it.
 *
 * Two tables with the same past are streamed to by turns (ABBA), so that both see the same machine. The records of each
 * second are those that the table's own snapshots say were added.
 *
 * Usage: `PacedStream <work folder> <result.json> <seconds a turn> <files of the past>...`
 */
object PacedStream {
  private val RecordsASecond = 43000
  private val SecondsBetweenQueries = 2L

  /** What a turn measured: milliseconds of each query, of each batch, and the records of each second. */
  private final class Turn {
    val hot, hotPlan, coldPlan, batches = mutable.ArrayBuffer.empty[Double]
    var records = Seq.empty[Long]
  }

  def main(arguments: Array[String]): Unit = {
    require(arguments.length >= 4, "Usage: PacedStream <work folder> <result.json> <seconds a turn> <files>...")
    val folder = Paths.get(arguments(0)).toAbsolutePath
    BenchmarkFiles.deleteTree(folder)
    val spark = BenchmarkSession.withLake(
      folder.toString,
      Map("spark.sql.shuffle.partitions" -> "2", "spark.sql.streaming.numRecentProgressUpdates" -> "10000"))
    val catalog = new HadoopCatalog()
    catalog.setConf(spark.sparkContext.hadoopConfiguration)
    catalog.initialize("lake", Map("warehouse" -> folder.toString).asJava)
    val seconds = arguments(2).toInt
    val sizes = arguments.drop(3).toSeq.map(_.toInt).map { files =>
      new PacedStream(spark, new StreamTable(spark, catalog, folder.toString, files, RecordsASecond), folder, seconds)
        .measured()
        .asJava
    }
    val document = Map[String, Any](
      "benchmark" -> "stream",
      "java" -> System.getProperty("java.version"),
      "spark" -> org.apache.spark.SPARK_VERSION,
      "iceberg" -> org.apache.iceberg.IcebergBuild.version(),
      "recordsASecond" -> RecordsASecond,
      "secondsATurn" -> seconds,
      "sizes" -> sizes.asJava
    )
    BenchmarkFiles.write(Paths.get(arguments(1)), document.asJava)
    spark.stop()
    BenchmarkFiles.deleteTree(folder)
  }
}

private final class PacedStream(spark: SparkSession, stream: StreamTable, folder: Path, secondsATurn: Int) {
  import PacedStream._

  private val index = UpkeepProcess.ofJvm

  def measured(): Map[String, Any] = {
    val (indexed, plain) = (s"indexed_${stream.past}", s"plain_${stream.past}")
    val tables = Map(indexed -> stream.create(indexed), plain -> stream.create(plain))
    Layout.Combined.prepare(tables(indexed))
    val turns = Map(indexed -> new Turn, plain -> new Turn)
    // the first turn of each compiles the code and is not kept
    (Seq(plain -> 0, indexed -> 0) ++ Seq(indexed -> 1, plain -> 2, plain -> 3, indexed -> 4)).zipWithIndex.foreach {
      case ((name, number), place) =>
        val layout = if (name == indexed) Layout.Combined else Layout.NoIndex
        val into = if (number == 0) new Turn else turns(name)
        layout.set(spark)
        write(name, tables(name), place, if (number == 0) math.min(secondsATurn, 15) else secondsATurn, into)
    }
    val rows = equalRows(indexed, turns(indexed))
    tables.foreach { case (name, table) =>
      spark.sql(s"DROP TABLE lake.db.$name")
      BenchmarkFiles.deleteTree(Paths.get(table.location()))
    }
    println(s"${stream.past} files, $rows rows compared")
    turns.foreach { case (name, turn) => println(s"  $name ${summary(turn)}") }
    Map("files" -> stream.past, "index" -> summary(turns(indexed)).asJava, "stock" -> summary(turns(plain)).asJava)
  }

  /** Streams for some seconds, and queries the table meanwhile. */
  private def write(name: String, table: Table, place: Int, seconds: Int, into: Turn): Unit = {
    val query = started(name, place)
    val begin = System.nanoTime()
    SECONDS.sleep(math.min(10, seconds / 3).toLong)
    while (elapsed(begin) < seconds && query.isActive) {
      val hot = hotRows(name, firstSecond(place) + math.max(0, elapsed(begin) - 60))
      into.hot += millis(spark.sql(s"SELECT count(*), max(value) FROM ($hot)").collect())
      into.hotPlan += millis(spark.sql(hot).queryExecution.toRdd.getNumPartitions)
      into.coldPlan += millis(spark.sql(coldRows(name)).queryExecution.toRdd.getNumPartitions)
      SECONDS.sleep(SecondsBetweenQueries)
    }
    query.exception.foreach(throw _)
    while (query.status.isTriggerActive) Thread.sleep(5) // stopping interrupts a batch
    query.stop()
    index.upkeep.await(600000)
    into.batches ++= query.recentProgress.iterator.filter(_.numInputRows > 0).map(_.batchDuration.toDouble)
    into.records ++= recordsOfSeconds(table, query.id.toString)
  }

  /** The first second of a turn's records; no turn has the seconds of another one. */
  private def firstSecond(place: Int): Long = stream.streamStart + place * 3600L

  private def elapsed(begin: Long): Long = NANOSECONDS.toSeconds(System.nanoTime() - begin)

  private def started(name: String, place: Int): StreamingQuery = {
    val from = firstSecond(place) * 1000000L
    spark.readStream
      .format("rate")
      .option("rowsPerSecond", RecordsASecond.toLong)
      .option("numPartitions", 2)
      .load()
      .selectExpr(
        s"value + ${place * 1000000000L} AS id",
        s"timestamp_micros($from + value * 1000000 DIV $RecordsASecond) AS ts",
        "CAST(pmod(hash(value), 100000) AS BIGINT) AS device",
        "CAST(pmod(hash(value, 1), 5000) AS INT) AS metric",
        "pmod(hash(value, 2), 1000000) / 100D AS value",
        "concat('host-', pmod(hash(value, 3), 64)) AS host"
      )
      .writeStream
      .trigger(Trigger.ProcessingTime(1, SECONDS))
      .option("checkpointLocation", s"$folder/checkpoints/$name-$place")
      .toTable(s"lake.db.$name")
  }

  /** The records of each second of a turn, by the snapshots of its query; the first and the last commit are not whole. */
  private def recordsOfSeconds(table: Table, query: String): Seq[Long] = {
    table.refresh()
    val commits = table
      .snapshots()
      .asScala
      .filter(_.summary().get("spark.sql.streaming.queryId") == query)
      .map(s => (s.timestampMillis() / 1000, s.summary().getOrDefault(SnapshotSummary.ADDED_RECORDS_PROP, "0").toLong))
      .toSeq
      .drop(1)
      .dropRight(1)
    val added = commits.groupMapReduce(_._1)(_._2)(_ + _)
    if (added.isEmpty) Nil else (added.keys.min to added.keys.max).map(added.getOrElse(_, 0L))
  }

  /** The rows of the last query with the index, and the same without it; it throws if they differ. */
  private def equalRows(name: String, turn: Turn): Long = {
    val all =
      s"SELECT count(*), sum(id), max(value) FROM lake.db.$name WHERE ts >= timestamp_seconds(${stream.streamStart})"
    def rows(layout: Layout) = { layout.set(spark); spark.sql(all).collect().toSeq }
    val (ours, theirs) = (rows(Layout.Combined), rows(Layout.NoIndex))
    require(ours == theirs && turn.hot.nonEmpty, s"$name: $ours with the index, $theirs without it")
    ours.head.getLong(0)
  }

  private def millis(work: => Any): Double = {
    val started = System.nanoTime()
    val _ = work
    (System.nanoTime() - started) / 1e6
  }

  /** The rows of one metric since a second. */
  private def hotRows(name: String, second: Long): String =
    s"SELECT * FROM lake.db.$name WHERE ts >= timestamp_seconds($second) AND metric = 77"

  /** A minute of the past. */
  private def coldRows(name: String): String = {
    val from = stream.streamStart - stream.past / 2
    s"SELECT * FROM lake.db.$name WHERE ts >= timestamp_seconds($from) AND ts < timestamp_seconds(${from + 60}) AND metric = 77"
  }

  private def summary(turn: Turn): Map[String, Any] =
    Map(
      "recordsOfSeconds" -> turn.records.asJava,
      "batchMillisP50" -> Measure.median(turn.batches.toSeq),
      "batchMillisP99" -> Stats.quantile(turn.batches.toSeq, 0.99),
      "hotQueryMillis" -> Measure.median(turn.hot.toSeq),
      "hotPlanMillis" -> Measure.median(turn.hotPlan.toSeq),
      "coldPlanMillis" -> Measure.median(turn.coldPlan.toSeq),
      "queries" -> turn.hot.size
    )
}
