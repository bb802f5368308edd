// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{TableMetadata, TableOperations}
import org.apache.iceberg.io.{FileIO, InputFile, LocationProvider, OutputFile}
import org.scalatest.funsuite.AnyFunSuite

/** What clients of one catalog agree on, and clients of two catalogs do not. */
class CatalogEntryTest extends AnyFunSuite {

  /** Operations whose `FileIO` knows the properties of the catalog. */
  private class Operations(properties: Option[Map[String, String]]) extends TableOperations {
    override def io(): FileIO = new FileIO {
      override def newInputFile(path: String): InputFile = throw new UnsupportedOperationException
      override def newOutputFile(path: String): OutputFile = throw new UnsupportedOperationException
      override def deleteFile(path: String): Unit = throw new UnsupportedOperationException
      override def properties(): java.util.Map[String, String] =
        properties0.getOrElse(throw new UnsupportedOperationException).asJava
    }
    private def properties0 = properties
    override def current(): TableMetadata = null
    override def refresh(): TableMetadata = throw new UnsupportedOperationException
    override def commit(base: TableMetadata, updated: TableMetadata): Unit = throw new UnsupportedOperationException
    override def metadataFileLocation(fileName: String): String = fileName
    override def locationProvider(): LocationProvider = throw new UnsupportedOperationException
  }
  private final class JdbcTableOperations(properties: (String, String)*) extends Operations(Some(properties.toMap))
  private final class RESTTableOperations(properties: (String, String)*) extends Operations(Some(properties.toMap))
  private final class HiveTableOperations(properties: (String, String)*) extends Operations(Some(properties.toMap))
  private final class HadoopTableOperations extends Operations(None)
  private final class GlueTableOperations(properties: (String, String)*) extends Operations(Some(properties.toMap))
  private final class SilentTableOperations extends Operations(None)

  private def uri(value: String) = "uri" -> value
  private val jdbc = uri("jdbc:postgresql://h:5432/db")

  Seq[(String, (String, TableOperations), (String, TableOperations), Boolean)](
    (
      "sessions that name the catalog differently",
      ("lake.db.events", new RESTTableOperations(uri("http://h:8181"))),
      ("prod.DB.Events", new RESTTableOperations(uri("http://h:8181/"))),
      true),
    (
      "user and options of a connection",
      ("lake.db.t", new JdbcTableOperations(jdbc)),
      ("lake.db.t", new JdbcTableOperations(uri("jdbc:postgresql://me:secret@h:5432/db?ssl=true"))),
      true),
    (
      "other defaults of new tables",
      ("lake.db.t", new JdbcTableOperations(jdbc, "warehouse" -> "s3://a")),
      ("lake.db.t", new JdbcTableOperations(jdbc, "warehouse" -> "s3a://a/")),
      true),
    ("another name", ("lake.db.t", new JdbcTableOperations(jdbc)), ("lake.db.u", new JdbcTableOperations(jdbc)), false),
    (
      "another namespace",
      ("lake.a.b.t", new JdbcTableOperations(jdbc)),
      ("lake.c.b.t", new JdbcTableOperations(jdbc)),
      false),
    (
      "another catalog of a database",
      ("lake.db.t", new JdbcTableOperations(jdbc)),
      ("other.db.t", new JdbcTableOperations(jdbc)),
      false),
    (
      "another database",
      ("lake.db.t", new JdbcTableOperations(jdbc)),
      ("lake.db.t", new JdbcTableOperations(uri("jdbc:postgresql://h:5432/copy"))),
      false),
    (
      "another catalog of a service",
      ("lake.db.t", new RESTTableOperations(uri("http://h"), "warehouse" -> "prod")),
      ("lake.db.t", new RESTTableOperations(uri("http://h"), "warehouse" -> "test")),
      false),
    (
      "another branch of a catalog",
      ("lake.db.t", new RESTTableOperations(uri("http://h"), "ref" -> "main")),
      ("lake.db.t", new RESTTableOperations(uri("http://h"), "ref" -> "dev")),
      false),
    (
      "a Hive service that only Hadoop's configuration names",
      ("thrift://h:9083/db.t", new HiveTableOperations(uri("thrift://h:9083"))),
      ("spark_catalog.db.t", new HiveTableOperations()),
      true),
    (
      "a catalog of another kind",
      ("lake.db.t", new JdbcTableOperations(jdbc)),
      ("lake.db.t", new GlueTableOperations()),
      false),
    (
      "two tables of a folder, opened in two ways",
      ("lake.db.t", new HadoopTableOperations),
      ("/lake/db/t", new HadoopTableOperations),
      true),
    (
      "a table of a folder, and of a catalog",
      ("lake.db.t", new HadoopTableOperations),
      ("lake.db.t", new JdbcTableOperations(jdbc)),
      false),
    ("no properties", ("lake.db.t", new SilentTableOperations), ("x.db.t", new SilentTableOperations), true)
  ).foreach { case (name, one, two, isOne) =>
    test(s"$name: one entry $isOne") {
      val (first, second) = ((CatalogEntry.of _).tupled(one), (CatalogEntry.of _).tupled(two))
      assert(first.fits(second) == isOne && second.fits(first) == isOne, s"$first $second")
      assert(!(first.text + second.text).contains("secret"))
    }
  }

  test("a mark survives its bytes, and an entry that says more replaces one that says less") {
    val known = CatalogEntry("db.t", Some("0123456789abcdef"))
    val unknown = CatalogEntry("db.t", None)
    val other = CatalogEntry("db.u", None)
    val mark = OwnerMark(Seq(unknown, other), Map("main" -> "v1|1|x|y|z", "audit" -> "p"))
    assert(OwnerMark.decode(OwnerMark.encode(mark)) == Right(mark))
    assert(mark.withEntry(known).entries == Seq(other, known))
    assert(mark.withEntry(known).withEntry(unknown).entries == Seq(other, known))
    assert(OwnerMark.decode(OwnerMark.encode(mark).dropRight(1)).isLeft)
  }
}
