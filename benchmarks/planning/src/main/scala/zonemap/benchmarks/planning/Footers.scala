// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.nio.file.{Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.{BaseTable, IcebergBuild}
import org.apache.spark.sql.SparkSession

import zonemap.iceberg.admin.IndexAdmin
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.evidence.{EvidenceBuild, FooterBudget, FooterTaskRunner}
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * Measures what the evidence of footers costs: the first refresh of a table of imported Parquet files of 30 columns, in
 * one thread of Spark tasks, with local files and with a store that takes some time for each request.
 *
 * Usage: `Footers <work folder> <result.json> <files> <runs>`.
 */
object Footers {
  private val SlowMillis = 27L
  private val Columns = 30
  private val RowsPerFile = 1000

  def main(arguments: Array[String]): Unit = {
    val Array(folder, result, files, runs) = arguments
    val warehouse = Paths.get(folder).toAbsolutePath
    BenchmarkFiles.deleteTree(warehouse)
    Using.resource(BenchmarkSession.withLake(warehouse.toString))(write(_, warehouse, files.toInt))
    val rows = Seq(0L, SlowMillis).map { millis =>
      val measured = (0 to runs.toInt).map(_ => read(warehouse, millis, files.toInt)).tail
      Map(
        "requestMillis" -> millis,
        "requests" -> measured.head._2.requests,
        "bytes" -> measured.head._2.bytes,
        "wallMillis" -> Measure.median(measured.map(_._1.wallMillis)),
        "cpuMillis" -> Measure.median(measured.map(_._1.cpuMillis))
      )
    }
    rows.foreach(println)
    BenchmarkFiles.write(
      Paths.get(result),
      Map[String, Any](
        "benchmark" -> "footers",
        "java" -> System.getProperty("java.version"),
        "iceberg" -> IcebergBuild.version(),
        "files" -> files.toInt,
        "columns" -> Columns,
        "runs" -> runs.toInt,
        "rows" -> rows.map(_.asJava).asJava
      ).asJava
    )
  }

  private def write(spark: SparkSession, warehouse: Path, files: Int): Unit = {
    val columns = (0 until Columns).map { i =>
      i % 3 match {
        case 0 => s"id * ${i + 1} AS c$i"
        case 1 => s"CAST(id % ${i + 1} AS INT) AS c$i"
        case 2 => s"concat('name-', id % ${i * 1000}) AS c$i"
      }
    }
    val rows = spark.range(0, files.toLong * RowsPerFile, 1, files).selectExpr(columns: _*)
    rows.write.parquet(warehouse.resolve("imported").toString)
    rows.limit(0).writeTo("lake.db.imported").using("iceberg").create()
    spark
      .sql(
        "CALL lake.system.add_files(table => 'db.imported', source_table => " +
          s"'`parquet`.`${warehouse.resolve("imported")}`')")
      .collect(): Unit
  }

  /** Builds the index anew and measures the reading of footers alone. */
  private def read(warehouse: Path, millis: Long, files: Int): (Run, Traffic) = {
    val location = warehouse.resolve("db").resolve("imported").toString
    val io = new RemoteFileIO(millis)
    val table = new BaseTable(new Through(SlowFileSystem.load(location).operations(), io), location)
    val snapshot = table.currentSnapshot()
    val store = warehouse.resolve("index")
    BenchmarkFiles.deleteTree(store)
    val settings =
      PlannerSettings(upkeep = UpkeepMode.Off, storeLocation = Some(SlowFileSystem.location(store.toString)))
    val index = UpkeepProcess.ofJvm.index
    index.clear()
    new IndexAdmin(index).build(table, snapshot, settings, new LocalRunner(_)): Unit
    val inThisThread: FooterTaskRunner = (tasks, store) => tasks.map(_.run(table, store))
    io.traffic(): Unit
    val (_, run) = Measure.run {
      new EvidenceBuild(index).run(table, snapshot, settings, inThisThread, FooterBudget(files, Int.MaxValue))
    }
    (run, io.traffic())
  }
}
