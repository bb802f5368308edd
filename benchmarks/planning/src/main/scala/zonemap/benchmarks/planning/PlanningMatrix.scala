// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg._

import zonemap.benchmarks.planning.Measure.median
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * Measures planning while one factor varies at a time: files, columns, deletes, and the state of the index.
 *
 * The tables are kept in the work folder and reused ([[MatrixTables]]).
 *
 * Usage: `PlanningMatrix <work folder> <result.json> <pairs> <centre> <files>...`; the centre is the number of files at
 * which the other factors are measured.
 */
object PlanningMatrix {

  def main(arguments: Array[String]): Unit = {
    require(arguments.length >= 5, "Usage: PlanningMatrix <work folder> <result.json> <pairs> <centre> <files>...")
    val folder = Paths.get(arguments(0)).toAbsolutePath
    val shapes = MatrixTables.shapes(arguments(3).toInt, arguments.drop(4).map(_.toInt).toSeq)
    new PlanningMatrix(folder, arguments(2).toInt, shapes).measure(write(Paths.get(arguments(1)), shapes, _))
  }

  private def write(result: Path, shapes: MatrixShapes, rows: Seq[Map[String, Any]]): Unit =
    BenchmarkFiles.write(
      result,
      Map[String, Any](
        "benchmark" -> "planning-matrix",
        "java" -> System.getProperty("java.version"),
        "iceberg" -> IcebergBuild.version(),
        "cores" -> Runtime.getRuntime.availableProcessors,
        "maxHeapBytes" -> Runtime.getRuntime.maxMemory,
        "requestMillis" -> SlowMillis,
        "centreFiles" -> shapes.centre.files,
        "rows" -> rows.map(_.asJava).asJava
      ).asJava
    )

  private val SlowMillis = 27L

  /** Small tables are planned in ten times as many pairs, because their ratio is close to the noise. */
  private val SmallFiles = 1000
  private val SmallTimes = 10

  /** Plans of a run from the index, from SQL text: the clock of the CPU time has a resolution of 10 ms. */
  private val SqlRepeats = 5

  private[planning] def queries(atlas: AtlasTable): Seq[Query] =
    PlanningBenchmark.queries(atlas).filter(_.sql.isDefined)

  /** A run, its storage requests if they were counted, and the number of files or splits that it planned. */
  private[planning] final case class Measured(run: Run, traffic: Option[Traffic], planned: Int)

  private[planning] def count(scan: BatchScan, query: Query): Int =
    Using.resource(scan.filter(query.filter).planFiles()) { tasks =>
      var count = 0
      tasks.forEach(_ => count += 1)
      count
    }
}

private final class PlanningMatrix(folder: Path, pairs: Int, shapes: MatrixShapes) {
  import PlanningMatrix._

  private type Row = Map[String, Any]
  private val tables = new MatrixTables(folder)

  /**
   * Measures all axes. `keep` receives all rows so far after each axis, because the whole measurement takes an hour.
   */
  def measure(keep: Seq[Row] => Unit): Unit = {
    val axes = Seq[() => Seq[Row]](
      () => shapes.bySize.flatMap(shape => axis("files", shape.files.toString, shape)),
      () => shapes.bySize.filter(_.files <= SmallFiles).flatMap(withoutIndex),
      () => states(),
      () => otherStock(),
      () => freshJvms(),
      () => byDeletes(),
      () => byColumns(),
      () => Using.resource(new SqlPlanning(folder))(sql => shapes.bySize.flatMap(fromSql(sql, _)))
    )
    axes.foldLeft(Seq.empty[Row]) { (rows, axis) =>
      val more = rows ++ axis()
      keep(more)
      more
    }: Unit
  }

  private def byColumns(): Seq[Row] = shapes.byColumns.flatMap { shape =>
    val files = if (shape.files == shapes.centre.files) "" else s" (${shape.files} files)"
    axis("columns", shape.columns.toString + files, shape)
  }

  private def byDeletes(): Seq[Row] = MatrixTables.DeletedPercents.flatMap { percent =>
    axis("files with deletes", s"$percent %", shapes.centre, MatrixTables.deletesBranch(percent))
  }

  /**
   * The number of plans per run. CPU time has a resolution of 10 ms, so a run of a small table takes about 200 ms on
   * Iceberg's side.
   */
  private def repeatsOf(shape: Shape): Int =
    if (shape.files > SmallFiles) math.max(1, 20000 / shape.files)
    else math.max(10, 200 / (1 + shape.files / 50))

  private def axis(axis: String, value: String, shape: Shape, ref: String = MatrixTables.Indexed): Seq[Row] = {
    val opened = tables.open(shape, ref)
    val isSmall = shape.files <= SmallFiles
    val (times, apart, indexRuns) =
      if (isSmall) (SmallTimes * pairs, 3, 1) else (pairs, 1, PlanningBenchmark.OurRepeats)
    queries(shape.atlas).map { query =>
      val sides = new Sides(opened, query, repeatsOf(shape))
      val (stock, index) = interleaved(times, apart, indexRuns)(sides.stock(), sides.hot())
      row(
        axis,
        value,
        query,
        Seq(
          "stock" -> (summary(stock) + peak(opened.stockScan(), query)),
          "index" -> (summary(index) + peak(opened.indexScan(), query))))
    }
  }

  /** The peak of heap use while the caller retains all tasks, as Spark does. */
  private def peak(scan: BatchScan, query: Query) = "peakHeapBytes" -> Measure.peakHeap {
    Using.resource(scan.filter(query.filter).planFiles())(_.asScala.toVector)
  }

  /**
   * Measures the cost of looking for an index that does not exist, on tables small enough to show it.
   *
   * A run is longer than on other axes: the difference must exceed the resolution of the CPU clock.
   */
  private def withoutIndex(shape: Shape): Seq[Row] = {
    val opened = tables.open(shape)
    queries(shape.atlas).map { query =>
      val sides = new Sides(opened, query, repeatsOf(shape) * SmallTimes * pairs / 3)
      val (stock, absent) = interleaved(SmallTimes * pairs, apart = 3)(sides.stock(), sides.absent())
      row("files, no index", shape.files.toString, query, Seq("stock" -> summary(stock), "index" -> summary(absent)))
    }
  }

  /** Measures planning by Spark, from SQL text, with the steps of the plan counted for the SQL tab and without. */
  private def fromSql(sql: SqlPlanning, shape: Shape): Seq[Row] = {
    val location = tables.locationOf(shape)
    val (times, indexRuns) =
      if (shape.files <= SmallFiles) (SmallTimes * pairs, 1) else (pairs, PlanningBenchmark.OurRepeats)
    queries(shape.atlas).flatMap { query =>
      def planned(byIndex: Boolean, countsSteps: Boolean, repeats: Int) = {
        var splits = 0
        val (_, run) =
          Measure.run((1 to repeats).foreach(_ => splits = sql.splits(location, query, byIndex, countsSteps)))
        Measured(Run(run.wallMillis / repeats, run.cpuMillis / repeats, run.allocatedBytes / repeats), None, splits)
      }
      for ((value, countsSteps) <- Seq("" -> false, ", steps counted" -> true)) yield {
        val (stock, index) = interleaved(times, apart = 1, indexRuns)(
          planned(byIndex = false, countsSteps = false, repeats = 1),
          planned(byIndex = true, countsSteps, SqlRepeats))
        row(
          "files, from SQL to splits",
          s"${shape.files}$value",
          query,
          Seq("stock" -> summary(stock), "index" -> summary(index)))
      }
    }
  }

  /**
   * Measures the plans of a driver with nothing in memory, for each state of the index and each latency of its files.
   */
  private def states(): Seq[Row] = {
    val slow = s", $SlowMillis ms a request"
    val all = Seq(("cold", MatrixTables.Indexed, 0L, false)) ++
      Option.when(PageCache.isDroppable)(("cold, page cache dropped", MatrixTables.Indexed, 0L, true)) ++
      Seq((s"cold$slow", MatrixTables.Indexed, SlowMillis, false)) ++
      MatrixTables.CommitsBehind.map { commits =>
        (s"cold, $commits commits behind$slow", MatrixTables.behindTag(commits), SlowMillis, false)
      }
    all.flatMap { case (state, ref, millis, drops) =>
      val opened = tables.open(shapes.centre, ref, millis)
      queries(shapes.centre.atlas).map { query =>
        val sides = new Sides(opened, query, repeats = 1)
        def after[A](run: => A): A = { if (drops) PageCache.drop(); run }
        val runs = (1 to pairs).map(_ => (after(sides.stock()), after(sides.cold())))
        row("index", state, query, Seq("stock" -> summary(runs.map(_._1)), "index" -> summary(runs.map(_._2))))
      }
    }
  }

  /** Compares with Iceberg's other ways of planning: with its manifest cache, and as Spark jobs on the same cores. */
  private def otherStock(): Seq[Row] = {
    val opened = tables.open(shapes.centre)
    val cached =
      tables.open(shapes.centre, properties = Map(CatalogProperties.IO_MANIFEST_CACHE_ENABLED -> "true"))
    val caching = against("hot, stock with its manifest cache") { query =>
      new Sides(cached, query, repeats = 1).stock()
    }
    val loaded = SlowFileSystem.load(opened.location)
    caching ++ Using.resource(DistributedPlanning.session()) { spark =>
      against("hot, stock planned by Spark jobs") { query =>
        // The Spark tasks open files through their own FileIO, so that requests are not counted.
        val (files, run) =
          Measure.run(count(DistributedPlanning.scan(spark, loaded).useSnapshot(opened.snapshotId), query))
        Measured(run, None, files)
      }
    }
  }

  private def against(state: String)(stock: Query => Measured): Seq[Row] = {
    val opened = tables.open(shapes.centre)
    queries(shapes.centre.atlas).map { query =>
      val sides = new Sides(opened, query, repeats = 1)
      val (theirs, ours) = interleaved(pairs, apart = 1)(stock(query), sides.hot())
      row("index", state, query, Seq("stock" -> summary(theirs), "index" -> summary(ours)))
    }
  }

  /** Measures the first plan of a JVM, class loading included; each run is a separate process. */
  private def freshJvms(): Seq[Row] = {
    val asked = queries(shapes.centre.atlas)
    asked.indices.map { i =>
      def first(side: String) =
        FreshJvm.run(tables.locationOf(shapes.centre), shapes.centre.files, shapes.centre.columns, i, side)
      val runs = (1 to pairs).map(_ => (first("stock"), first("index")))
      row(
        "index",
        "first plan of a JVM",
        asked(i),
        Seq("stock" -> summary(runs.map(_._1)), "index" -> summary(runs.map(_._2))))
    }
  }

  /**
   * Measures both sides alternately, after `apart` runs that are not measured.
   *
   * @param indexRuns plans from the index per pair; more than one for large tables, where such a plan is much shorter
   *   than Iceberg's
   */
  private def interleaved(pairs: Int, apart: Int, indexRuns: Int = 1)(
      stock: => Measured,
      index: => Measured): (Seq[Measured], Seq[Measured]) = {
    UpkeepProcess.ofJvm.index.clear()
    def indexed = (1 to indexRuns).map(_ => index)
    (1 to apart).foreach { _ => stock; indexed }
    val (stocks, indexes) = (1 to pairs).map { pair =>
      if (pair % 2 == 0) { val first = stock; (first, indexed) }
      else { val first = indexed; (stock, first) }
    }.unzip
    (stocks, indexes.flatten)
  }

  /** The ways to plan one query of one table. */
  private final class Sides(opened: OpenedTable, query: Query, repeats: Int) {

    def stock(): Measured = measured(count(opened.stockScan(), query))

    /** Plans with all columns of the filter in memory. */
    def hot(): Measured = measured(count(opened.indexScan(), query))

    /** Plans with nothing in memory. */
    def cold(): Measured = {
      UpkeepProcess.ofJvm.index.clear()
      hot()
    }

    /** Plans without an index. */
    def absent(): Measured = measured(count(opened.scanWithoutIndex(), query))

    def measured(planned: => Int): Measured = {
      opened.io.traffic(): Unit
      var files = 0
      val (_, run) = Measure.run((1 to repeats).foreach(_ => files = planned))
      val traffic = opened.io.traffic()
      Measured(
        Run(run.wallMillis / repeats, run.cpuMillis / repeats, run.allocatedBytes / repeats),
        Some(Traffic(traffic.requests / repeats, traffic.bytes / repeats)),
        files)
    }
  }

  private def row(axis: String, value: String, query: Query, sides: Seq[(String, Map[String, Any])]): Row = {
    val said = sides.map { case (side, n) =>
      s"$side ${n("files")} files ${"%.2f".format(n("cpuMillis"))} CPU ms ${"%.2f".format(n("wallMillis"))} ms" +
        n.get("requests").fold("")(requests => s" $requests requests")
    }
    println(s"  $axis $value: ${query.name}: ${said.mkString("; ")}")
    Map[String, Any]("axis" -> axis, "value" -> value, "query" -> query.name) ++
      sides.map { case (side, numbers) => side -> numbers.asJava }
  }

  private def summary(runs: Seq[Measured]): Map[String, Any] = {
    val traffic = runs.flatMap(_.traffic)
    Map[String, Any](
      "runs" -> runs.size,
      "files" -> runs.last.planned,
      "wallMillis" -> median(runs.map(_.run.wallMillis)),
      "cpuMillis" -> median(runs.map(_.run.cpuMillis)),
      "allocatedBytes" -> median(runs.map(_.run.allocatedBytes.toDouble)).toLong
    ) ++ Option.when(traffic.nonEmpty)("requests" -> median(traffic.map(_.requests.toDouble)).toLong) ++
      Option.when(traffic.nonEmpty)("bytesRead" -> median(traffic.map(_.bytes.toDouble)).toLong)
  }
}

/** The page cache of Linux; root may drop its content. */
private object PageCache {
  private val Control = Paths.get("/proc/sys/vm/drop_caches")

  def isDroppable: Boolean = Files.isWritable(Control)

  /** Drops the cached pages. No data is lost: Linux retains pages that are not yet on disk. */
  def drop(): Unit = Files.writeString(Control, "3"): Unit
}
