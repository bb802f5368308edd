// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.lang.management.ManagementFactory
import java.nio.file.{Path, Paths}

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession

import zonemap.benchmarks.planning.Measure.median

/** Measures the planning of a statement by Spark, with the product off and on by turns in one JVM. */
object SqlTurns {

  /** The runs of each variant before the measured ones. */
  private val WarmUp = 8

  private val Variants: Seq[(String, Map[String, String])] =
    Seq("stock" -> Map("spark.sql.zonemap.enabled" -> "false"), "index" -> Map("spark.sql.zonemap.enabled" -> "true"))

  /**
   * @param threadMillis CPU time of the calling thread
   * @param planned what the measured work returns
   */
  private final case class Turn(run: Run, threadMillis: Double, planned: Int)

  /**
   * Measures tables of several sizes in one session, and writes the result. The arguments are a work folder, the result,
   * the rounds and the numbers of files; `measure` gets the session, the folder, a number of files and the rounds.
   */
  def run(suite: String, arguments: Seq[String])(
      measure: (SparkSession, Path, Int, Int) => Seq[java.util.Map[String, Any]]): Unit = {
    require(arguments.size >= 4, s"Usage: $suite <work folder> <result.json> <rounds> <files>...")
    val folder = Paths.get(arguments(0)).toAbsolutePath
    val spark = BenchmarkSession.withLake(
      folder.getParent.toString,
      Map("spark.sql.zonemap.upkeep.mode" -> "off", "spark.sql.adaptive.enabled" -> "false", SlowFileSystem.sparkConf))
    val tables =
      try arguments.drop(3).flatMap(files => measure(spark, folder, files.toInt, arguments(2).toInt))
      finally spark.stop()
    BenchmarkFiles.write(Paths.get(arguments(1)), Map[String, Any]("tables" -> tables.asJava).asJava)
  }

  /** Returns the medians of each variant; `plan` returns the number of splits or files that it planned. */
  def measure(spark: SparkSession, what: String, rounds: Int)(plan: => Int): java.util.Map[String, Any] = {
    // planning of a large table takes seconds with the product off, so one warm-up run suffices there
    val runs = Variants.map(_ => ArrayBuffer.empty[Turn])
    (0 until WarmUp + rounds).foreach { round =>
      val order = if (round % 2 == 0) Variants.indices else Variants.indices.reverse
      order.foreach(i =>
        if (round >= WarmUp || i == Variants.size - 1 || round == 0) {
          runs(i) += turn(spark, Variants(i)._2)(plan): Unit
        })
    }
    val of = Variants.indices.map { i =>
      val kept = runs(i).takeRight(rounds).toSeq
      val figures = Map[String, Any](
        "threadMillis" -> median(kept.map(_.threadMillis)),
        "cpuMillis" -> median(kept.map(_.run.cpuMillis)),
        "wallMillis" -> median(kept.map(_.run.wallMillis)),
        "allocatedMegabytes" -> median(kept.map(_.run.allocatedBytes / 1e6)),
        "splits" -> kept.last.planned
      )
      Variants(i)._1 -> figures.asJava
    }
    println(f"  $what%-30s " + of
      .map { case (name, f) =>
        f"$name: thread ${f.get("threadMillis").asInstanceOf[Double]}%.1f, CPU ${f.get("cpuMillis").asInstanceOf[Double]}%.1f, " +
          f"wall ${f.get("wallMillis").asInstanceOf[Double]}%.1f ms, ${f.get("splits")} splits"
      }
      .mkString("; "))
    (Map[String, Any]("query" -> what) ++ of).asJava
  }

  private def turn(spark: SparkSession, confs: Map[String, String])(plan: => Int): Turn = {
    confs.foreach { case (key, value) => spark.conf.set(key, value) }
    val threads = ManagementFactory.getThreadMXBean
    val before = threads.getCurrentThreadCpuTime
    val (planned, run) = Measure.run(plan)
    Turn(run, (threads.getCurrentThreadCpuTime - before) / 1e6, planned)
  }
}
