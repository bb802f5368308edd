package zonemap.benchmarks.planning

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.iceberg._
import org.apache.iceberg.encryption.EncryptionManager
import org.apache.iceberg.hadoop.HadoopTables
import org.apache.iceberg.io.{FileIO, LocationProvider}

import zonemap.benchmarks.planning.Measure.median
import zonemap.core.eval.AnswerCache
import zonemap.iceberg.index.IndexRegistry
import zonemap.iceberg.plan.{PlannerSettings, UpkeepMode, ZoneMapTable}
import zonemap.iceberg.upkeep.IndexProcedures

/**
 * Planning with one thing varied at a time: files, columns, deletes, and the state of the index.
 *
 * Tables are kept in the work folder and used again. Usage: `PlanningMatrix <work folder> <result.json> <pairs> <centre>
 * <files>...`; the centre is the number of files at which the other axes are measured.
 */
object PlanningMatrix {
  private val SlowMillis = 27L

  def main(arguments: Array[String]): Unit = {
    require(arguments.length >= 5, "Usage: PlanningMatrix <work folder> <result.json> <pairs> <centre> <files>...")
    val folder = Files.createDirectories(Paths.get(arguments(0)).toAbsolutePath)
    val pairs = arguments(2).toInt
    val centre = arguments(3).toInt
    val sizes = arguments.drop(4).map(_.toInt).toSeq
    val rows = sizes.flatMap(files => filesAxis(folder, Shape(files), pairs)) ++
      Seq(10, 100).flatMap(columns => axis("columns", columns.toString, folder, Shape(centre, columns), pairs)) ++
      Seq(0.01, 0.5).flatMap { share =>
        axis("files with deletes", f"${share * 100}%.0f %%", folder, Shape(centre, deletes = share), pairs)
      } ++ stateAxis(folder, Shape(centre), pairs)
    BenchmarkFiles.write(
      Paths.get(arguments(1)),
      Map[String, Any](
        "benchmark" -> "planning-matrix",
        "java" -> System.getProperty("java.version"),
        "iceberg" -> IcebergBuild.version(),
        "cores" -> Runtime.getRuntime.availableProcessors,
        "maxHeapBytes" -> Runtime.getRuntime.maxMemory,
        "requestMillis" -> SlowMillis,
        "rows" -> rows.map(_.asJava).asJava
      ).asJava
    )
  }

  /** A table of the suite. */
  private final case class Shape(files: Int, columns: Int = 30, deletes: Double = 0, staleCommits: Int = 0) {
    def name: String = s"matrix-$files-$columns-${(deletes * 100).toInt}-$staleCommits"
    def atlas: AtlasTable = AtlasTable(files, columns, commits = math.max(1, math.min(336, files / 300)))
  }

  private type Row = Map[String, Any]

  /** Small tables are planned in thirty pairs, several times each: their ratio must be told from the noise. */
  private def filesAxis(folder: Path, shape: Shape, pairs: Int): Seq[Row] =
    axis("files", shape.files.toString, folder, shape, if (shape.files <= 1000) math.max(pairs, 30) else pairs)

  private def axis(axis: String, value: String, folder: Path, shape: Shape, pairs: Int): Seq[Row] = {
    val opened = open(folder, shape)
    val repeats = math.max(1, math.min(20, 20000 / shape.files))
    queries(shape.atlas).map { query =>
      val side = new Sides(opened, query, repeats)
      val (stock, ours) = side.interleaved(pairs)
      val absent = if (shape.files <= 1000) Seq("indexAbsent" -> summary(side.absent(pairs))) else Nil
      def heap(table: => Table) = "peakHeapBytes" -> Measure.peakHeap(tasks(table, query))
      row(
        axis,
        value,
        query,
        Seq(
          "stock" -> (summary(stock) + heap(opened.table)),
          "index" -> (summary(ours) + heap(opened.indexed()))) ++ absent)
    }
  }

  /** How the state of the index, and where its files are, changes a plan. */
  private def stateAxis(folder: Path, shape: Shape, pairs: Int): Seq[Row] = {
    val stale = Seq(1, 10, 100).map(commits => s"cold, $commits commits behind" -> shape.copy(staleCommits = commits))
    val states = for {
      (state, of) <- ("cold" -> shape) +: stale
      requestMillis <- Seq(0L, SlowMillis)
    } yield {
      val opened = open(folder, of, requestMillis)
      queries(of.atlas).map { query =>
        val side = new Sides(opened, query, repeats = 1)
        val runs = (1 to pairs).map(_ => (side.stock(), side.cold()))
        row(
          "index",
          state + (if (requestMillis > 0) s", $requestMillis ms a request" else ""),
          query,
          Seq("stock" -> summary(runs.map(_._1)), "index" -> summary(runs.map(_._2))))
      }
    }
    val cached = open(folder, shape, properties = Map(CatalogProperties.IO_MANIFEST_CACHE_ENABLED -> "true"))
    val plain = open(folder, shape)
    val caching = queries(shape.atlas).map { query =>
      val side = new Sides(plain, query, repeats = 1)
      val other = new Sides(cached, query, repeats = 1)
      other.stock(): Unit
      val runs = (1 to pairs).map(_ => (other.stock(), side.hot()))
      row(
        "index",
        "hot, stock with its manifest cache",
        query,
        Seq("stock" -> summary(runs.map(_._1)), "index" -> summary(runs.map(_._2))))
    }
    states.flatten ++ caching ++ distributed(folder, shape, pairs) ++ freshJvms(folder, shape, pairs)
  }

  /** Iceberg's planning as Spark jobs on the same cores. */
  private def distributed(folder: Path, shape: Shape, pairs: Int): Seq[Row] = {
    val opened = open(folder, shape)
    val loaded = new HadoopTables(new Configuration).load(opened.location)
    Using.resource(DistributedPlanning.session()) { spark =>
      queries(shape.atlas).map { query =>
        val side = new Sides(opened, query, repeats = 1)
        def jobs() = side.measured(count(DistributedPlanning.scan(spark, loaded), query))
        jobs(): Unit
        val runs = (1 to pairs).map(_ => (jobs(), side.hot()))
        row(
          "index",
          "hot, stock planned by Spark jobs",
          query,
          Seq("stock" -> summary(runs.map(_._1)), "index" -> summary(runs.map(_._2))))
      }
    }
  }

  /** The first plan of a JVM, class loading included: a process for each. */
  private def freshJvms(folder: Path, shape: Shape, pairs: Int): Seq[Row] =
    queries(shape.atlas).indices.map { i =>
      def first(side: String) = FreshJvm.run(folder.resolve(shape.name), shape.files, shape.columns, i, side)
      val runs = (1 to pairs).map(_ => (first("stock"), first("index")))
      row(
        "index",
        "first plan of a JVM",
        queries(shape.atlas)(i),
        Seq("stock" -> summary(runs.map(_._1)), "index" -> summary(runs.map(_._2))))
    }

  private[planning] def queries(atlas: AtlasTable): Seq[Query] = {
    val wanted = Set("no filter", "atlas: one name, some days", "range of seq, no partition predicate")
    PlanningBenchmark.queries(atlas).filter(query => wanted(query.name))
  }

  /** A run, what it asked of storage, and the files it planned. */
  private[planning] final case class Measured(run: Run, traffic: Traffic, files: Int)

  /** The ways to plan one query of one table. */
  private final class Sides(opened: Opened, query: Query, repeats: Int) {

    def stock(): Measured = measured(count(opened.table.newBatchScan(), query))

    /** Asked for the first time, whatever was asked before. */
    def hot(): Measured = measured {
      AnswerCache.shared.clear()
      count(opened.indexed().newBatchScan(), query)
    }

    /** Nothing is held in memory. */
    def cold(): Measured = {
      IndexRegistry.clear()
      hot()
    }

    /** The cost of asking for an index that is not there. */
    def absent(pairs: Int): Seq[Measured] = {
      IndexRegistry.clear()
      val nowhere = Some(opened.location + "-nowhere")
      val runs = (1 to pairs).map(_ => measured(count(opened.indexed(nowhere).newBatchScan(), query)))
      IndexRegistry.clear()
      runs
    }

    /** Pairs of both sides by turns, after runs apart. */
    def interleaved(pairs: Int): (Seq[Measured], Seq[Measured]) = {
      IndexRegistry.clear()
      (1 to 3).foreach { _ => stock(); hot() }
      (1 to pairs).map { pair =>
        if (pair % 2 == 0) { val first = stock(); (first, hot()) }
        else { val first = hot(); (stock(), first) }
      }.unzip
    }

    def measured(planned: => Int): Measured = {
      opened.io.traffic(): Unit
      var files = 0
      val (_, run) = Measure.run((1 to repeats).foreach(_ => files = planned))
      val traffic = opened.io.traffic()
      Measured(
        Run(run.wallMillis / repeats, run.cpuMillis / repeats, run.allocatedBytes / repeats),
        Traffic(traffic.requests / repeats, traffic.bytes / repeats),
        files)
    }
  }

  private[planning] def count(scan: BatchScan, query: Query): Int =
    Using.resource(scan.filter(query.filter).planFiles()) { tasks =>
      var count = 0
      tasks.forEach(_ => count += 1)
      count
    }

  /** All tasks at once, as Spark holds them. */
  private def tasks(table: Table, query: Query): Seq[ScanTask] =
    Using.resource(table.newBatchScan().filter(query.filter).planFiles())(_.asScala.toVector)

  /** A table, reached through counted files. */
  private[planning] final class Opened(val location: String, val io: RemoteFileIO) {
    private val operations = new Through(
      new HadoopTables(new Configuration).load(location).asInstanceOf[BaseTable].operations(),
      io)

    val table: BaseTable = new BaseTable(operations, location)

    def indexed(store: Option[String] = None): ZoneMapTable =
      new ZoneMapTable(
        operations,
        location,
        table.reporter(),
        table.currentSnapshot().snapshotId(),
        settings(store.getOrElse(storeOf(location))))
  }

  private[planning] def settings(store: String): PlannerSettings =
    PlannerSettings(upkeep = UpkeepMode.Off, storeLocation = Some(store))

  private def storeOf(location: String) = s"slow:$location-index"

  private def open(
      folder: Path,
      shape: Shape,
      requestMillis: Long = 0,
      properties: Map[String, String] = Map.empty): Opened = {
    val location = folder.resolve(shape.name).toString
    if (!Files.exists(folder.resolve(s"${shape.name}.done"))) make(folder, shape, location)
    new Opened(location, new RemoteFileIO(requestMillis, properties))
  }

  private def make(folder: Path, shape: Shape, location: String): Unit = {
    Seq(location, s"$location-index").foreach(path => BenchmarkFiles.deleteTree(Paths.get(path)))
    println(s"${shape.name}: writing metadata")
    val table = shape.atlas.create(location)
    shape.atlas.delete(table, shape.deletes)
    val opened = new Opened(location, new RemoteFileIO(0))
    IndexProcedures.build(
      opened.table,
      opened.table.currentSnapshot(),
      settings(storeOf(location)),
      IndexProcedures.localRunner): Unit
    shape.atlas.appendMore(table, shape.staleCommits)
    Files.createFile(folder.resolve(s"${shape.name}.done")): Unit
  }

  private def row(axis: String, value: String, query: Query, sides: Seq[(String, Map[String, Any])]): Row = {
    val said = sides.map { case (side, n) =>
      s"$side ${n("files")} files ${"%.2f".format(n("cpuMillis"))} CPU ms ${"%.2f".format(n("wallMillis"))} ms " +
        s"${n("requests")} requests"
    }
    println(s"  $axis $value: ${query.name}: ${said.mkString("; ")}")
    Map[String, Any]("axis" -> axis, "value" -> value, "query" -> query.name) ++
      sides.map { case (side, numbers) => side -> numbers.asJava }
  }

  private def summary(runs: Seq[Measured]): Map[String, Any] =
    Map[String, Any](
      "runs" -> runs.size,
      "files" -> runs.last.files,
      "wallMillis" -> median(runs.map(_.run.wallMillis)),
      "cpuMillis" -> median(runs.map(_.run.cpuMillis)),
      "allocatedBytes" -> median(runs.map(_.run.allocatedBytes.toDouble)).toLong,
      "requests" -> median(runs.map(_.traffic.requests.toDouble)).toLong,
      "bytesRead" -> median(runs.map(_.traffic.bytes.toDouble)).toLong
    )
}

/** A table's operations with other files under them. */
private final class Through(operations: TableOperations, override val io: FileIO) extends TableOperations {
  override def current(): TableMetadata = operations.current()
  override def refresh(): TableMetadata = operations.refresh()
  override def commit(base: TableMetadata, metadata: TableMetadata): Unit = operations.commit(base, metadata)
  override def encryption(): EncryptionManager = operations.encryption()
  override def metadataFileLocation(name: String): String = operations.metadataFileLocation(name)
  override def locationProvider(): LocationProvider = operations.locationProvider()
}
