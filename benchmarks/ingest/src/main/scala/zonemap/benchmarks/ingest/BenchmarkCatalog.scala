// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.ingest

import java.io.{File, OutputStream}
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.iceberg.{BaseTable, CatalogProperties, CatalogUtil, PartitionSpec, Table, TableProperties}
import org.apache.iceberg.catalog.{Catalog, Namespace, SupportsNamespaces, TableIdentifier}
import org.apache.iceberg.hadoop.HadoopFileIO

/** A kind of catalog. Each client opens the catalog anew, as a process of its own would. */
final class BenchmarkCatalog(val name: String, properties: Map[String, String], closing: () => Unit)
    extends AutoCloseable {
  private val configuration = new Configuration()

  def open(): Catalog with SupportsNamespaces =
    CatalogUtil.buildIcebergCatalog(name, properties.asJava, configuration) match {
      case catalog: Catalog with SupportsNamespaces => catalog
      case other                                    => throw new IllegalStateException(s"$other has no namespaces")
    }

  def create(table: String): Table = {
    val catalog = open()
    if (!catalog.namespaceExists(Namespace.of("db"))) catalog.createNamespace(Namespace.of("db"))
    catalog.createTable(
      TableIdentifier.of("db", table),
      Rows.Columns,
      PartitionSpec.unpartitioned(),
      Map(TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED -> "true").asJava)
  }

  /** The table as a client of its own sees it; its operations count the commits that they send. */
  def client(table: String): (BaseTable, CountingOperations) = {
    val loaded = open().loadTable(TableIdentifier.of("db", table)).asInstanceOf[BaseTable]
    val counting = new CountingOperations(loaded.operations())
    (new BaseTable(counting, loaded.name()), counting)
  }

  override def close(): Unit = closing()
}

object BenchmarkCatalog {

  /** Iceberg's JDBC catalog on a SQLite file. A client that meets a lock waits, because SQLite has one writer. */
  def jdbc(folder: Path): BenchmarkCatalog = {
    Files.createDirectories(folder)
    new BenchmarkCatalog(
      "jdbc",
      Map(
        "catalog-impl" -> "org.apache.iceberg.jdbc.JdbcCatalog",
        CatalogProperties.URI -> s"jdbc:sqlite:$folder/catalog.db?busy_timeout=20000",
        CatalogProperties.WAREHOUSE_LOCATION -> folder.resolve("warehouse").toString,
        CatalogProperties.FILE_IO_IMPL -> classOf[HadoopFileIO].getName,
        "jdbc.schema-version" -> "V1"
      ),
      () => ()
    )
  }

  /**
   * A REST catalog: Iceberg's own test server in a process of its own, on a JDBC catalog.
   *
   * @param jars the folder that `make jars` fills
   */
  def rest(folder: Path, jars: Path): BenchmarkCatalog = {
    Files.createDirectories(folder)
    val server = new ProcessBuilder(
      s"${System.getProperty("java.home")}/bin/java",
      "-XX:+UseSerialGC",
      "-Xmx512m",
      "-Dlog4j2.level=OFF", // it would log each conflict with its stack
      "-cp",
      serverClassPath(jars),
      "tests/catalogs/RestServer.java",
      s"jdbc:sqlite:$folder/rest.db?busy_timeout=20000",
      folder.resolve("warehouse").toString
    ).redirectError(folder.resolve("stderr").toFile).start()
    val port = server.inputReader().readLine()
    drain(server)
    require(port != null, s"The REST catalog did not start: ${Files.readString(folder.resolve("stderr"))}")
    new BenchmarkCatalog(
      "rest",
      Map(
        "catalog-impl" -> "org.apache.iceberg.rest.RESTCatalog",
        CatalogProperties.URI -> s"http://127.0.0.1:$port",
        CatalogProperties.FILE_IO_IMPL -> classOf[HadoopFileIO].getName
      ),
      () => {
        server.getOutputStream.close() // the server ends with its input
        if (!server.waitFor(10, TimeUnit.SECONDS)) server.destroyForcibly(): Unit
      }
    )
  }

  /** Reads and drops the output of the server, which would hang when the pipe is full. */
  private def drain(server: Process): Unit = {
    val thread =
      new Thread(() => server.getInputStream.transferTo(OutputStream.nullOutputStream()): Unit, "rest-output")
    thread.setDaemon(true)
    thread.start()
  }

  /** The server needs Iceberg's separate jars, and of this class path only Spark's libraries. */
  private def serverClassPath(jars: Path): String = {
    def isIceberg(path: String) = path.split('/').last.startsWith("iceberg-") || path.contains("/target/")
    val own = System.getProperty("java.class.path").split(File.pathSeparator).filterNot(isIceberg)
    val fetched = jars.toFile.listFiles().map(_.getPath).filterNot(_.contains("iceberg-spark-runtime")).sorted
    require(fetched.nonEmpty, s"There is no jar in '$jars'. Run 'make jars'.")
    (fetched ++ own).mkString(File.pathSeparator)
  }
}
