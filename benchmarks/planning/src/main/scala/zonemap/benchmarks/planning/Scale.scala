// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Table
import org.apache.iceberg.hadoop.HadoopTables
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.{QueryExecution, SQLExecution}

import zonemap.benchmarks.planning.Measure.median
import zonemap.iceberg.admin.IndexAdmin
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * One driver and metadata-only tables of up to ten million files: the build, plans from SQL to splits with nothing in
 * memory and with all of it, COUNT, and the refresh after a commit. No plan falls back to Iceberg.
 *
 * The tables are kept in the work folder and reused. Usage: `Scale <work folder> <result.json> <rounds> <files>...`
 */
object Scale {
  private val settings = PlannerSettings(upkeep = UpkeepMode.Off)
  private val WarmUp = 20

  def main(arguments: Array[String]): Unit = {
    require(arguments.length >= 4, "Usage: Scale <work folder> <result.json> <rounds> <files>...")
    val folder = Paths.get(arguments(0)).toAbsolutePath
    val tables = arguments.drop(3).toSeq.map(files => measureTable(folder, files.toInt, arguments(2).toInt).asJava)
    BenchmarkFiles.write(
      Paths.get(arguments(1)),
      Map[String, Any]("maxHeapBytes" -> Runtime.getRuntime.maxMemory, "tables" -> tables.asJava).asJava)
  }

  private def measureTable(folder: Path, files: Int, rounds: Int): Map[String, Any] = {
    val location = folder.resolve(s"scale_$files")
    val atlas = AtlasTable.ofSize(files, columns = 30).copy(byEngine = true)
    val table = existing(location, atlas)
    val snapshot = table.currentSnapshot()
    BenchmarkFiles.deleteTree(location.resolve("_zonemaps_v2"))
    UpkeepProcess.ofJvm.index.clear()
    println(s"$files files: building")
    val (built, building) =
      Measure.run(new IndexAdmin(UpkeepProcess.ofJvm.index).build(table, snapshot, settings, new LocalRunner(_)))
    println(
      f"  ${building.wallMillis / 1000}%.1f s, CPU ${building.cpuMillis / 1000}%.1f s, ${built.bytes / 1e6}%.0f MB")
    val spark = BenchmarkSession.withLake(
      folder.getParent.toString,
      Map("spark.sql.zonemap.upkeep.mode" -> "off", SlowFileSystem.sparkConf))
    val plans =
      try {
        val name = s"lake.`${folder.getFileName}`.`${location.getFileName}`"
        // a first plan below differs from later ones by what is in memory, not by classes and the JIT
        (1 to WarmUp).foreach(i => planned(spark, s"SELECT seq FROM $name WHERE seq = $i"))
        statements(atlas, name).map { case (what, text) => plan(spark, what, text, rounds).asJava }
      } finally spark.stop()
    val resident = UpkeepProcess.ofJvm.index.tables.of(table).residentBytes
    val commits = Builds.afterCommits(table, atlas, settings)
    table.manageSnapshots().rollbackTo(snapshot.snapshotId()).commit()
    Map(
      "files" -> files,
      "manifestBytes" -> snapshot.allManifests(table.io()).asScala.map(_.length()).sum,
      "indexBytes" -> built.bytes,
      "residentBytes" -> resident,
      "build" -> figures(Seq(building)),
      "commit" -> figures(commits),
      "plans" -> plans.asJava
    )
  }

  private def existing(location: Path, atlas: AtlasTable): Table = {
    val done = location.resolveSibling(s"${location.getFileName}.done")
    if (!Files.exists(done)) {
      BenchmarkFiles.deleteTree(location)
      println(s"${atlas.files} files: writing metadata")
      atlas.create(location.toString): Unit
      Files.createFile(done): Unit
    }
    new HadoopTables(SlowFileSystem.configuration()).load(location.toString)
  }

  private def statements(atlas: AtlasTable, table: String): Seq[(String, String)] = {
    val selected = PlanningBenchmark.queries(atlas).flatMap(query => query.sql.map(query.name -> _)).reverse
    selected.map { case (what, where) => what -> s"SELECT seq FROM $table WHERE $where" } ++ Seq(
      "count(*)" -> s"SELECT count(*) FROM $table",
      "count(*), min, max" -> s"SELECT count(*), min(seq), max(seq), min(ts), max(ts) FROM $table")
  }

  /**
   * Measures one statement: the first plan after the index has been dropped from memory, then `rounds` plans, and the
   * memory that the last one holds.
   */
  private def plan(spark: SparkSession, what: String, text: String, rounds: Int): Map[String, Any] = {
    val log = UpkeepProcess.ofJvm.index.planLog
    val fallbacks = log.fallbacks
    UpkeepProcess.ofJvm.index.clear()
    val cold = Measure.run(planned(spark, text))._2
    val runs = (1 to rounds).map(_ => Measure.run(planned(spark, text))._2)
    val before = heapAfterCollection()
    val (last, splits) = planned(spark, text)
    val held = math.max(0, heapAfterCollection() - before)
    require(last != null && log.fallbacks == fallbacks, s"Iceberg planned: $text")
    println(
      f"  $what%-40s first ${cold.wallMillis}%.0f ms, then ${median(runs.map(_.wallMillis))}%.1f ms, " +
        f"CPU ${median(runs.map(_.cpuMillis))}%.1f ms, $splits splits, ${held / 1e6}%.0f MB held")
    Map(
      "query" -> what,
      "first" -> figures(Seq(cold)),
      "later" -> figures(runs),
      "splits" -> splits,
      "heldBytes" -> held)
  }

  private def planned(spark: SparkSession, text: String): (QueryExecution, Int) = {
    val execution = spark.sql(text).asInstanceOf[Dataset[_]].queryExecution
    SQLExecution.withNewExecutionId(execution) {
      val splits = execution.executedPlan.collect { case scan: BatchScanExec => scan.inputRDD.getNumPartitions }.sum
      (execution, splits)
    }
  }

  private def heapAfterCollection(): Long = {
    System.gc()
    Runtime.getRuntime.totalMemory - Runtime.getRuntime.freeMemory
  }

  private def figures(runs: Seq[Run]): java.util.Map[String, Any] =
    Map[String, Any](
      "runs" -> runs.size,
      "wallMillis" -> median(runs.map(_.wallMillis)),
      "cpuMillis" -> median(runs.map(_.cpuMillis)),
      "allocatedMegabytes" -> median(runs.map(_.allocatedBytes / 1e6))
    ).asJava
}
