// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.commit

import java.nio.file.Path
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch}

import scala.concurrent.{Await, Future}
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.iceberg.BaseTable
import org.apache.iceberg.catalog.TableIdentifier
import org.apache.iceberg.hadoop.{HadoopCatalog, HadoopFileIO}
import org.apache.spark.SparkConf
import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.{IngestTable, IngestTables}
import zonemap.spark.conf.MalformedConfException

/** The committer without a session, on a Hadoop catalog: names, confs, what it commits and what it reports. */
class CommitProcessTest extends AnyFunSuite {
  private val SparkCatalog = "org.apache.iceberg.spark.SparkCatalog"
  private val Events = TableIdentifier.of("db", "my.events")
  private val Name = "lake.db.`my.events`"

  private def conf(warehouse: Path, more: (String, String)*): SparkConf =
    new SparkConf(false)
      .set("spark.sql.catalog.lake", SparkCatalog)
      .set("spark.sql.catalog.lake.type", "hadoop")
      .set("spark.sql.catalog.lake.warehouse", warehouse.toString)
      .set("spark.sql.zonemap.ingest.interval", "0ms")
      .setAll(more)

  private def create(warehouse: Path): IngestTable = {
    val catalog = new HadoopCatalog(new Configuration, warehouse.toString)
    catalog.createTable(Events, IngestTables.Schema)
    new IngestTable(catalog.loadTable(Events), () => catalog.loadTable(Events))
  }

  /** Runs the process for the duration of `body`, which gets a function that waits for a line. */
  private def running(conf: SparkConf)(body: (String => Unit) => Unit): Seq[String] = {
    val (stop, lines) = (new CountDownLatch(1), new ConcurrentLinkedQueue[String])
    val process = Future(CommitProcess.run(conf, Seq(Name, Name), 20, stop, lines.add(_): Unit))
    def await(text: String): Unit = {
      val end = 60.seconds.fromNow
      while (!lines.asScala.exists(_.contains(text))) {
        if (process.isCompleted) Await.result(process, Duration.Zero)
        assert(end.hasTimeLeft(), s"no line with '$text' in $lines")
        Thread.sleep(10)
      }
    }
    try body(await)
    finally {
      stop.countDown()
      Await.result(process, 60.seconds)
    }
    lines.asScala.toSeq
  }

  test("appends before and after the start are committed once, and each change is one line") {
    val warehouse = IngestTables.folder()
    val table = create(warehouse)
    table.append("a", table.dataFile("first", rows = 1000))
    val lines = running(conf(warehouse)) { await =>
      await("1 records committed, 1,000 rows; 0 pending, 0 quarantined")
      table.append("a", table.dataFile("second", rows = 5))
      await("2 records committed, 1,005 rows; 0 pending, 0 quarantined")
    }
    assert(table.live() == Seq("first", "second"))
    assert(lines.forall(_.startsWith(s"$Name: ")) && lines.distinct == lines)
  }

  test("a table that is created later is committed then; until then, a line names the reason") {
    val warehouse = IngestTables.folder()
    running(conf(warehouse)) { await =>
      await("Table does not exist: db.my.events")
      val table = create(warehouse)
      table.append("a", table.dataFile("first"))
      await("1 records committed, 1 rows; 0 pending")
      assert(table.live() == Seq("first")): Unit
    }
  }

  test("the catalog has the properties, in any case, and the Hadoop confs that a session would give it") {
    val warehouse = IngestTables.folder()
    create(warehouse)
    val confs = conf(
      warehouse,
      "spark.hadoop.one" -> "1",
      "spark.hadoop.two" -> "1",
      "spark.sql.catalog.lake.hadoop.two" -> "2",
      "spark.sql.catalog.lake.IO-Impl" -> classOf[ConfiguredFileIO].getName
    )
    val io =
      new ConfiguredCatalogs(confs, "id").table(Name)().asInstanceOf[BaseTable].io().asInstanceOf[ConfiguredFileIO]
    assert((io.conf().get("one"), io.conf().get("two")) == (("1", "2")))
    assert(io.properties().get("app-id") == "id")
  }

  for ((name, more, why) <- Seq(
      ("other.db.events", Nil, "no conf describes the catalog. Give --conf spark.sql.catalog.other=" + SparkCatalog),
      ("events", Nil, "Write catalog.namespace.table."),
      ("lake..events", Nil, "it is not a name in SQL"),
      (
        "lake.db.events",
        Seq("spark.sql.catalog.lake" -> "my.Catalog"),
        "the class my.Catalog is not a catalog of Iceberg")
    ))
    test(s"$name with ${more.mkString} is refused") {
      val error = intercept[IllegalArgumentException](
        CommitProcess.run(conf(IngestTables.folder(), more: _*), Seq(name), 1, new CountDownLatch(1), _ => ()))
      assert(error.getMessage.startsWith(s"Cannot commit to '$name': ") && error.getMessage.contains(why))
    }

  test("a conf that is not allowed is refused") {
    val confs = conf(IngestTables.folder(), "spark.sql.zonemap.ingest.interval" -> "soon")
    val error =
      intercept[MalformedConfException](CommitProcess.run(confs, Seq(Name), 1, new CountDownLatch(1), _ => ()))
    assert(error.getMessage.contains("spark.sql.zonemap.ingest.interval='soon'"))
  }
}

/** Keeps its configuration and its properties. */
final class ConfiguredFileIO extends HadoopFileIO {
  private var held = java.util.Map.of[String, String]()
  override def initialize(properties: java.util.Map[String, String]): Unit = {
    held = properties
    super.initialize(properties)
  }
  override def properties(): java.util.Map[String, String] = held
}
