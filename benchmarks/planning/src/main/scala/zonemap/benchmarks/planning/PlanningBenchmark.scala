// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.nio.file.{Path, Paths}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.{BaseTable, Table}
import org.apache.iceberg.expressions.{Expression, Expressions}

import zonemap.benchmarks.planning.BenchmarkFiles.deleteTree
import zonemap.benchmarks.planning.Measure.median
import zonemap.iceberg.admin.IndexAdmin
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.plan.ZoneMapTable
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.upkeep.UpkeepProcess

/** One query: its filter, a name that describes its purpose, and optionally the filter as SQL. */
final case class Query(name: String, filter: Expression, sql: Option[String] = None)

/**
 * Compares stock Iceberg's local planning with planning from the index, on metadata-only tables, in one JVM.
 *
 * Each query first runs once per side without being measured (class loading, JIT), then in interleaved pairs in ABBA
 * order. The index must not retain more files than Iceberg.
 *
 * Usage: `PlanningBenchmark <work folder> <result.json> <pairs> <files>...`
 */
object PlanningBenchmark {
  private val settings = PlannerSettings(upkeep = UpkeepMode.Off)

  def main(arguments: Array[String]): Unit = {
    require(arguments.length >= 4, "Usage: PlanningBenchmark <work folder> <result.json> <pairs> <files>...")
    val pairs = arguments(2).toInt
    val tables =
      arguments.drop(3).toSeq.map(files => measureTable(Paths.get(arguments(0)), files.toInt, columns = 30, pairs))
    write(Paths.get(arguments(1)), tables)
  }

  private def measureTable(folder: Path, files: Int, columns: Int, pairs: Int): Map[String, Any] = {
    val location = folder.resolve(s"atlas-$files-$columns")
    deleteTree(location)
    val atlas = AtlasTable.ofSize(files, columns)
    println(s"$files files x $columns columns: writing metadata")
    val (table, generated) = Measure.run(atlas.create(location.toString))
    val manifestBytes = table.currentSnapshot().allManifests(table.io()).asScala.map(_.length()).sum
    val (built, building) =
      Measure.run(
        new IndexAdmin(UpkeepProcess.ofJvm.index).build(table, table.currentSnapshot(), settings, new LocalRunner(_)))
    println(
      f"  generated in ${generated.wallMillis / 1000}%.1f s, indexed in ${building.wallMillis / 1000}%.1f s wall, " +
        f"${building.cpuMillis / 1000}%.1f s CPU: ${built.bytes / 1e6}%.1f MB beside ${manifestBytes / 1e6}%.1f MB of manifests")
    val cold = coldRuns(table, queries(atlas)(1), pairs)
    val measured = queries(atlas).map(measureQuery(table, _, pairs))
    val memory = UpkeepProcess.ofJvm.index.tables.of(table).residentBytes
    val commits = Builds.afterCommits(table, atlas, settings)
    val byJob = Builds.bySparkJob(location) // must be last: the session of this step follows commits
    deleteTree(location)
    Map(
      "files" -> files,
      "columns" -> columns,
      "manifestBytes" -> manifestBytes,
      "indexBytes" -> built.bytes,
      "residentBytes" -> memory,
      "buildCpuSeconds" -> building.cpuMillis / 1000,
      "buildWallSeconds" -> building.wallMillis / 1000,
      "jobBuildCpuSeconds" -> byJob.cpuMillis / 1000,
      "jobBuildWallSeconds" -> byJob.wallMillis / 1000,
      "commitCpuMillis" -> median(commits.map(_.cpuMillis)),
      "commitWallMillis" -> median(commits.map(_.wallMillis)),
      "coldFirstPlanCpuMillis" -> median(cold.map(_.cpuMillis)),
      "coldFirstPlanWallMillis" -> median(cold.map(_.wallMillis)),
      "queries" -> measured
    )
  }

  private[planning] def queries(atlas: AtlasTable): Seq[Query] = {
    val from = atlas.dayMicros(atlas.dayCount / 3)
    val until = atlas.dayMicros(math.max(atlas.dayCount / 3 + 1, atlas.dayCount / 2))
    val days = Expressions.and(
      Expressions.greaterThanOrEqual("ts", java.lang.Long.valueOf(from)),
      Expressions.lessThan("ts", java.lang.Long.valueOf(until)))
    val total = atlas.files.toLong * 100000L
    val names = (0 until 250).map(i => atlas.metricName((i * 7919L * 131) % AtlasTable.Names))
    val ids = (0 until 250).map(i => java.lang.Long.valueOf(i * 1000003L + 5000))
    Seq(
      Query("no filter", Expressions.alwaysTrue(), Some("true")),
      Query(
        "atlas: one name, some days",
        Expressions.and(Expressions.equal("name", atlas.metricName(123456)), days),
        Some(
          s"name = '${atlas.metricName(123456)}' AND ts >= timestamp_micros($from) AND ts < timestamp_micros($until)")
      ),
      Query(
        "range of seq, no partition predicate",
        Expressions.and(
          Expressions.greaterThanOrEqual("seq", java.lang.Long.valueOf(total / 2)),
          Expressions.lessThan("seq", java.lang.Long.valueOf(total / 2 + 40000000L))),
        Some(s"seq >= ${total / 2} AND seq < ${total / 2 + 40000000L}")
      ),
      Query("one id that every file may hold", Expressions.equal("id", java.lang.Long.valueOf(1L << 40))),
      Query("IN of 250 names", Expressions.in("name", names: _*)),
      Query("IN of 250 names, some days", Expressions.and(Expressions.in("name", names: _*), days)),
      Query(
        "IN of 250 ids that every file may hold, one day's seq",
        Expressions.and(Expressions.in("id", ids: _*), Expressions.lessThan("seq", java.lang.Long.valueOf(total / 28)))
      )
    )
  }

  private def measureQuery(table: Table, query: Query, pairs: Int): Map[String, Any] = {
    val stock = mutable.ArrayBuffer.empty[Run]
    val ours = mutable.ArrayBuffer.empty[Run]
    val (stockFiles, stockFirst) = Measure.run(plan(table, query))
    val (ourFiles, ourFirst) = Measure.run(plan(zoneMap(table), query))
    (0 until pairs).foreach { pair =>
      def runStock(): Unit = stock += Measure.run(plan(table, query))._2
      def runOurs(): Unit = (0 until OurRepeats).foreach { _ =>
        ours += Measure.run(plan(zoneMap(table), query))._2
      }
      if (pair % 2 == 0) { runStock(); runOurs() }
      else { runOurs(); runStock() }
    }
    require(ourFiles <= stockFiles, s"${query.name}: ours plans $ourFiles files, Iceberg $stockFiles")
    val summary = Map[String, Any](
      "query" -> query.name,
      "stockFiles" -> stockFiles,
      "zonemapFiles" -> ourFiles,
      "stockFirst" -> runMap(stockFirst),
      "zonemapFirst" -> runMap(ourFirst),
      "stock" -> medians(stock.toSeq),
      "zonemap" -> medians(ours.toSeq)
    )
    println(f"  ${query.name}%-52s files $stockFiles%9d -> $ourFiles%9d   CPU ms ${median(stock.map(_.cpuMillis).toSeq)}%9.1f -> " +
      f"${median(ours.map(_.cpuMillis).toSeq)}%8.2f   wall ms ${median(stock.map(_.wallMillis).toSeq)}%9.1f -> ${median(ours.map(_.wallMillis).toSeq)}%8.2f" +
      f"   MB ${median(stock.map(_.allocatedBytes / 1e6).toSeq)}%8.1f -> ${median(ours.map(_.allocatedBytes / 1e6).toSeq)}%7.2f")
    summary
  }

  /** Measures first plans of a JVM that has nothing of the table in memory: each run opens the store anew. */
  private def coldRuns(table: Table, query: Query, pairs: Int): Seq[Run] =
    (0 until pairs).map { _ =>
      UpkeepProcess.ofJvm.index.clear()
      Measure.run(plan(zoneMap(table), query))._2
    }

  private def zoneMap(table: Table): ZoneMapTable = {
    val base = table.asInstanceOf[BaseTable]
    new ZoneMapTable(base.operations(), base.name(), base.reporter(), table.currentSnapshot().snapshotId(), settings)
  }

  private def plan(table: Table, query: Query): Int =
    Using.resource(table.newBatchScan().filter(query.filter).planFiles()) { tasks =>
      var count = 0
      tasks.forEach(_ => count += 1)
      count
    }

  private def medians(runs: Seq[Run]): java.util.Map[String, Any] =
    Map[String, Any](
      "runs" -> runs.size,
      "wallMillis" -> median(runs.map(_.wallMillis)),
      "cpuMillis" -> median(runs.map(_.cpuMillis)),
      "allocatedBytes" -> median(runs.map(_.allocatedBytes.toDouble)).toLong
    ).asJava

  private def runMap(run: Run): java.util.Map[String, Any] =
    Map[String, Any](
      "wallMillis" -> run.wallMillis,
      "cpuMillis" -> run.cpuMillis,
      "allocatedBytes" -> run.allocatedBytes).asJava

  private def write(result: Path, tables: Seq[Map[String, Any]]): Unit = {
    val document = Map[String, Any](
      "benchmark" -> "planning",
      "java" -> System.getProperty("java.version"),
      "iceberg" -> org.apache.iceberg.IcebergBuild.version(),
      "cores" -> Runtime.getRuntime.availableProcessors,
      "maxHeapBytes" -> Runtime.getRuntime.maxMemory,
      "tables" -> tables
        .map(_.map {
          case (key, list: Seq[_]) => key -> list.map { case m: Map[_, _] => m.asJava; case other => other }.asJava
          case other               => other
        }.asJava)
        .asJava
    )
    BenchmarkFiles.write(result, document.asJava)
  }

  /** Plans from the index are so short that each pair measures several of them, for a steadier median. */
  private[planning] val OurRepeats = 5
}
