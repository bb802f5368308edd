// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.ingest

import java.nio.file.{Path, Paths}

import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.Level
import org.apache.logging.log4j.core.config.Configurator

import zonemap.benchmarks.planning.BenchmarkFiles
import zonemap.benchmarks.planning.BenchmarkFiles.deleteTree
import zonemap.ingest.commit.IngestSettings

/**
 * Many writers of one table: direct commits against the queue, on the same catalogs in the same process; a soak; and the
 * throughput of a streaming query.
 *
 * Usage: `IngestBenchmark <work folder> <result.json> <folder of jars> quick|full [minutes of the soak]`
 */
object IngestBenchmark {
  private val Interval = IngestSettings(intervalMillis = 1000, pollMillis = 200)

  /** The sizes of a run. */
  private final case class Sizes(
      writers: Seq[Int],
      seconds: Int,
      soakMinutes: Double,
      rowsAnEpoch: Int,
      turns: Int,
      epochs: Int)

  private val Quick = Sizes(Seq(1, 16), 4, 0.3, 100000, 2, 3)
  private val Full = Sizes(Seq(1, 4, 16, 64), 20, 30, 430000, 10, 10)

  def main(arguments: Array[String]): Unit = {
    val usage = "Usage: IngestBenchmark <work folder> <result.json> <folder of jars> quick|full [minutes of the soak]"
    require(arguments.length >= 4, usage)
    val folder = Paths.get(arguments(0)).toAbsolutePath
    val (result, jars) = (Paths.get(arguments(1)), Paths.get(arguments(2)).toAbsolutePath)
    val sizes = Map("quick" -> Quick, "full" -> Full).getOrElse(arguments(3), throw new IllegalArgumentException(usage))
    deleteTree(folder)
    val sink = new SinkThroughput(folder.resolve("sink"), sizes.rowsAnEpoch, sizes.turns, sizes.epochs).run()
    println(sink)
    Configurator.setRootLevel(Level.ERROR) // Iceberg logs each conflict with its stack, which direct writers would pay
    val catalogs =
      Seq(BenchmarkCatalog.jdbc(folder.resolve("jdbc")), BenchmarkCatalog.rest(folder.resolve("rest"), jars))
    val (loads, soak) =
      try {
        warmUp(catalogs)
        val loads = catalogs.flatMap(measure(_, sizes))
        val minutes = arguments.lift(4).fold(sizes.soakMinutes)(_.toDouble)
        (loads, new Soak(catalogs.head, minutes, Interval).run())
      } finally catalogs.foreach(_.close())
    println(soak - "samples")
    write(result, sizes, loads, soak, sink)
    deleteTree(folder)
  }

  /** Loads and compiles what both ways use. */
  private def warmUp(catalogs: Seq[BenchmarkCatalog]): Unit = catalogs.foreach { catalog =>
    DirectAppends.run(catalog, "warm_direct", Load(2, 5))
    QueuedAppends.run(catalog, "warm_queue", Load(2, 5), Interval)
  }

  private def measure(catalog: BenchmarkCatalog, sizes: Sizes): Seq[Map[String, Any]] = {
    val full = sizes.writers.map(Load(_, sizes.seconds))
    // one writer with a tiny load, and many that leave most of the machine idle, as devices do
    val paced = Seq(1, 16).map(Load(_, sizes.seconds, pauseMillis = 500))
    val pairs = (full ++ paced).flatMap { load =>
      val name = s"w${load.writers}_${load.pauseMillis}"
      Seq(
        shown(DirectAppends.run(catalog, s"direct_$name", load)),
        shown(QueuedAppends.run(catalog, s"queue_$name", load, Interval)))
    }
    // the interval that users have without a conf
    pairs :+ shown(QueuedAppends.run(catalog, "defaults", Load(16, sizes.seconds), IngestSettings()))
  }

  private def shown(figures: Map[String, Any]): Map[String, Any] = {
    def number(key: String) = figures(key).toString.toDouble
    println(f"${figures("catalog")} ${figures("way")} ${figures("writers")} writers: ${number("appendsPerSecond")}%.1f appends/s, " +
      f"${number("attemptsPerCommit")}%.2f attempts, accepted ${number("acceptedMillisP50")}%.1f / ${number("acceptedMillisP99")}%.0f ms, " +
      f"visible ${number("visibleMillisP50")}%.0f / ${number("visibleMillisP99")}%.0f ms, " +
      f"commit ${number("commitMillisP50")}%.0f / ${number("commitMillisP99")}%.0f ms, cpu ${number("cpuMillisAnAppend")}%.1f ms, " +
      s"${figures("appends")} appends, ${figures("snapshots")} snapshots, ${figures("manifests")} manifests, " +
      s"${figures("failures")} failures, ${figures("lost")} lost, ${figures("doubled")} doubled")
    figures
  }

  private def write(
      result: Path,
      sizes: Sizes,
      loads: Seq[Map[String, Any]],
      soak: Map[String, Any],
      sink: Map[String, Any]): Unit = {
    val document = Map[String, Any](
      "benchmark" -> "ingest",
      "java" -> System.getProperty("java.version"),
      "spark" -> org.apache.spark.SPARK_VERSION,
      "iceberg" -> org.apache.iceberg.IcebergBuild.version(),
      "cores" -> Runtime.getRuntime.availableProcessors,
      "secondsARun" -> sizes.seconds,
      "rowsAnAppend" -> Rows.AnAppend,
      "intervalMillis" -> Interval.intervalMillis,
      "loads" -> loads.map(_.asJava).asJava,
      "soak" -> soak.asJava,
      "sink" -> sink.asJava
    )
    BenchmarkFiles.write(result, document.asJava)
  }
}
