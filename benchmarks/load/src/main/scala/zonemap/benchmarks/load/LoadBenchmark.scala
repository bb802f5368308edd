// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.load

import java.nio.file.Paths
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession

import zonemap.benchmarks.planning.{BenchmarkFiles, BenchmarkSession}
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * One driver with many query threads on many tables, under a cap of memory far below the need of their indexes, beside
 * Iceberg alone in the same process, by turns; DataFrames that are executed again; sessions that come and go.
 *
 * Usage: `LoadBenchmark <work folder> <result.json> quick|full`
 */
object LoadBenchmark {

  /**
   * The size of a run.
   *
   * @param seconds the time of a turn of one side; each side has two turns
   * @param dataFrames DataFrames of both sides together
   * @param restSeconds how long the driver rests before its memory, threads and files are counted
   */
  private[load] final case class Sizes(
      tables: Int,
      files: Int,
      threads: Int,
      seconds: Int,
      dataFrames: Int,
      sessions: Int,
      restSeconds: Int)

  private val Quick = Sizes(20, 40, 64, 8, 200, 10, 3)
  private val Full = Sizes(200, 200, 64, 90, 10000, 50, 70)

  /** The share of the memory that all indexes need which the cap allows. */
  private val CapShare = 0.1

  def main(arguments: Array[String]): Unit = {
    val usage = "Usage: LoadBenchmark <work folder> <result.json> quick|full"
    require(arguments.length >= 3, usage)
    val folder = Paths.get(arguments(0)).toAbsolutePath
    val sizes = Map("quick" -> Quick, "full" -> Full).getOrElse(arguments(2), throw new IllegalArgumentException(usage))
    BenchmarkFiles.deleteTree(folder)
    val spark = BenchmarkSession.withLake(
      folder.toString,
      Map(
        "spark.sql.shuffle.partitions" -> "1",
        "spark.sql.ui.retainedExecutions" -> "10",
        "spark.ui.retainedJobs" -> "10",
        "spark.ui.retainedStages" -> "10")
    )
    spark.sparkContext.setLogLevel("ERROR")
    val figures =
      try measure(spark, new LoadTables(spark, folder, sizes.tables, sizes.files), sizes)
      finally spark.stop()
    figures.foreach { case (name, value) => println(s"$name: $value") }
    write(arguments(1), sizes, figures)
    BenchmarkFiles.deleteTree(folder)
  }

  private def measure(spark: SparkSession, tables: LoadTables, sizes: Sizes): Map[String, Any] = {
    tables.create()
    val index = UpkeepProcess.ofJvm.index
    val expected = tables.expected(Side.session(spark, isIndex = false))
    val (stock, ours) =
      (new Side(spark, tables, expected, isIndex = false), new Side(spark, tables, expected, isIndex = true))
    Seq(stock, ours).foreach(_.warmUp(sizes.threads))
    val needed = index.tables.residentBytes
    val cap = (needed * CapShare).toLong
    // a cap holds from the next plan of the session that set it
    spark.conf.set("spark.sql.zonemap.hot.maxBytes", cap.toString)
    spark.sql(tables.text(0, 0)).collect()
    require(UpkeepProcess.ofJvm.await(60000) && index.tables.residentBytes <= cap, "the cap does not hold")
    val before = Held.afterRest(sizes.restSeconds)
    val resident = new Resident(index)
    Seq(stock, ours, ours, stock).foreach(_.turn(sizes.threads, sizes.seconds))
    Seq(stock, ours, ours, stock).foreach(_.executeAgain(sizes.threads, sizes.dataFrames / 4))
    (0 until sizes.sessions).foreach(_ => ours.inNewSession())
    val held = resident.end()
    val after = Held.afterRest(sizes.restSeconds)
    Map(
      "neededBytes" -> needed,
      "capBytes" -> cap,
      "resident" -> (held + ("atRest" -> index.tables.residentBytes)).asJava,
      "stock" -> stock.figures.asJava,
      "index" -> ours.figures.asJava,
      "before" -> before.figures.asJava,
      "after" -> after.figures.asJava
    )
  }

  private def write(result: String, sizes: Sizes, figures: Map[String, Any]): Unit = {
    val document = Map[String, Any](
      "benchmark" -> "load",
      "java" -> System.getProperty("java.version"),
      "spark" -> org.apache.spark.SPARK_VERSION,
      "iceberg" -> org.apache.iceberg.IcebergBuild.version(),
      "cores" -> Runtime.getRuntime.availableProcessors,
      "tables" -> sizes.tables,
      "filesATable" -> sizes.files,
      "threads" -> sizes.threads,
      "secondsATurn" -> sizes.seconds,
      "dataFrames" -> sizes.dataFrames,
      "sessions" -> sizes.sessions
    ) ++ figures
    BenchmarkFiles.write(Paths.get(result), document.asJava)
  }

  /** Runs `work` on as many threads, each with its number, and throws the first error of them. */
  private[load] def onThreads(count: Int)(work: Int => Unit): Unit = {
    @volatile var failure = Option.empty[Throwable]
    val ended = new AtomicInteger
    val threads = (0 until count).map { number =>
      new Thread(() =>
        try work(number)
        catch { case e: Throwable => failure = Some(e) }
        finally ended.incrementAndGet(): Unit)
    }
    threads.foreach(_.start())
    threads.foreach(_.join())
    failure.foreach(throw _)
  }
}
