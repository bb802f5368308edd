// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest

import java.nio.file.{Files, Path}
import java.time.{Clock, Instant, ZoneId, ZoneOffset}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.iceberg._
import org.apache.iceberg.catalog.{Catalog, Namespace, SupportsNamespaces, TableIdentifier}
import org.apache.iceberg.hadoop.{HadoopFileIO, HadoopTables}
import org.apache.iceberg.inmemory.InMemoryCatalog
import org.apache.iceberg.jdbc.JdbcCatalog
import org.apache.iceberg.types.Types

import zonemap.ingest.commit._
import zonemap.ingest.queue.{CommitQueue, Receipt}
import zonemap.ingest.table.{IngestTarget, QueueChoice}
import zonemap.ingest.write.LaneWriter

/** A clock that tests set. */
final class SetClock(private var millis0: Long) extends Clock {
  override def getZone: ZoneId = ZoneOffset.UTC
  override def withZone(zone: ZoneId): Clock = this
  override def instant(): Instant = Instant.ofEpochMilli(millis0)
  override def millis(): Long = millis0
  def forward(millis: Long): Unit = millis0 += millis
}

/** A real table in a local folder, with its queue, which is a spool beside it unless another one is chosen. */
final class IngestTable(
    val table: Table,
    load: () => Table,
    val settings: IngestSettings = IngestSettings(),
    choice: QueueChoice = QueueChoice.OfSpool)
    extends AutoCloseable {
  private val opened = new java.util.concurrent.ConcurrentLinkedQueue[CommitQueue]

  /** A little ahead of the clock of the file system. */
  val clock = new SetClock(System.currentTimeMillis() + 10000)
  def reload(): Table = load()
  def target: IngestTarget = {
    val target = IngestTarget.open(load(), None, choice)
    opened.add(target.queue)
    target
  }

  /** Closes the queues of all targets. */
  override def close(): Unit = opened.forEach(_.close())
  val io: org.apache.iceberg.io.FileIO = table.io()

  /** Writes a file of that many bytes, and returns it as a data file. */
  def dataFile(name: String, rows: Long = 1, spec: PartitionSpec = table.spec(), partition: String = ""): DataFile = {
    val path = s"${table.location()}/data/$name.parquet"
    val out = io.newOutputFile(path).createOrOverwrite()
    out.write(Array.fill[Byte](100 + rows.toInt)(1))
    out.close()
    val builder = DataFiles
      .builder(spec)
      .withPath(path)
      .withFormat(FileFormat.PARQUET)
      .withFileSizeInBytes(100 + rows)
      .withRecordCount(rows)
    if (spec.isPartitioned) builder.withPartitionPath(partition)
    builder.build()
  }

  def lane(name: String, branch: String = "main"): LaneWriter =
    LaneWriter.open(target, settings, branch, name, "test")

  def draw(branch: String = "main"): LaneWriter = LaneWriter.draw(target, settings, branch, "test")

  def append(lane: LaneWriter, files: DataFile*): Receipt =
    lane.append(lane.lastSeq + 1, files, System.currentTimeMillis())

  def append(lane: String, files: DataFile*): Receipt = append(this.lane(lane), files: _*)

  def pass(): PassResult = new Committer(target, settings, clock).pass().head

  def passes(): Seq[PassResult] = new Committer(target, settings, clock).pass()

  /** The names of the live files of a branch. */
  def live(branch: String = "main"): Seq[String] = {
    val table = reload()
    if (table.snapshot(branch) == null) Nil
    else {
      val tasks = table.newScan().useRef(branch).planFiles()
      try tasks.asScala.map(_.file().location().split('/').last.stripSuffix(".parquet")).toSeq.sorted
      finally tasks.close()
    }
  }

  def root: Path = Path.of(target.files.root.stripPrefix("file:"))
}

object IngestTables {
  val Schema = new Schema(
    Types.NestedField.required(1, "id", Types.LongType.get()),
    Types.NestedField.optional(2, "kind", Types.StringType.get()),
    Types.NestedField.optional(3, "n", Types.IntegerType.get())
  )

  def folder(): Path = Files.createTempDirectory("ingest")

  def hadoop(
      spec: PartitionSpec = PartitionSpec.unpartitioned(),
      settings: IngestSettings = IngestSettings(),
      properties: Map[String, String] = Map.empty): IngestTable = {
    val tables = new HadoopTables(new Configuration())
    val location = s"${folder()}/lake/events"
    val table = tables.create(Schema, spec, SortOrder.unsorted(), properties.asJava, location)
    new IngestTable(table, () => tables.load(location), settings)
  }

  /** The kinds of catalogs, by name. */
  val Catalogs: Seq[(String, () => Catalog with SupportsNamespaces)] = Seq(
    "in memory" -> (() => inMemory(folder())),
    "JDBC" -> (() => jdbc(folder()))
  )

  private def inMemory(warehouse: Path): Catalog with SupportsNamespaces = {
    val catalog = new InMemoryCatalog
    catalog.initialize(
      "memory",
      Map("warehouse" -> warehouse.toString, "io-impl" -> classOf[HadoopFileIO].getName).asJava)
    catalog
  }

  /** @param name that of the catalog in its database, which may hold several */
  def jdbc(warehouse: Path, name: String = "jdbc"): Catalog with SupportsNamespaces = {
    val catalog = new JdbcCatalog
    catalog.setConf(new Configuration())
    catalog.initialize(
      name,
      Map(
        "warehouse" -> warehouse.toString,
        "uri" -> s"jdbc:sqlite:$warehouse/catalog.db?busy_timeout=20000",
        "jdbc.schema-version" -> "V1",
        "io-impl" -> classOf[HadoopFileIO].getName
      ).asJava
    )
    catalog
  }

  def in(
      catalog: Catalog with SupportsNamespaces,
      settings: IngestSettings = IngestSettings(),
      choice: QueueChoice = QueueChoice.OfSpool): IngestTable = {
    val name = TableIdentifier.of("db", "events")
    if (!catalog.namespaceExists(Namespace.of("db"))) catalog.createNamespace(Namespace.of("db"))
    new IngestTable(catalog.createTable(name, Schema), () => catalog.loadTable(name), settings, choice)
  }
}
