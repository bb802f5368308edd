// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.streaming.{DataStreamWriter, StreamingQuery}

import zonemap.ingest.queue.CommitQueue
import zonemap.ingest.spark.commit.IngestProcess
import zonemap.ingest.table.IngestTarget
import zonemap.spark.SharedSession

/** Tables, streams and calls for the suites of append ingestion. */
trait IngestSession extends SharedSession {
  protected val Format = "zonemap-ingest"

  /** Append ingestion in the driver of the tests. */
  protected def ingest: IngestProcess =
    runtime.parts.collectFirst { case started: StartedIngest => started.ingest }.get

  protected def create(name: String, columns: String, more: String = ""): String = {
    val table = s"lake.db.$name"
    sql(s"DROP TABLE IF EXISTS $table")
    sql(s"CREATE TABLE $table ($columns) USING iceberg $more")
    table
  }

  protected def call(text: String): Row = sql(s"CALL zonemap.system.$text").head()

  protected def errorOf(body: => Any): String = {
    val error = intercept[Exception](body)
    Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.getMessage).mkString(" | ")
  }

  /** Commits all that is pending; returns the numbers of records and rows that became visible. */
  protected def commit(table: String): (Long, Long) = {
    val commits = sql(s"CALL zonemap.system.ingest_commit(table => '$table')").collect()
    (commits.map(_.getAs[Long]("records")).sum, commits.map(_.getAs[Long]("rows")).sum)
  }

  /** The rows of a table as Iceberg alone plans them. */
  protected def read(table: String): Seq[String] =
    withConf("spark.sql.zonemap.enabled" -> "false")(rows(sql(s"SELECT * FROM $table")))

  protected def queue(table: String): CommitQueue =
    IngestTarget.spool(Spark3Util.loadIcebergTable(spark, table), None).queue

  /** The lane and number of each pending record, sorted. */
  protected def pending(table: String): Seq[(String, Long)] =
    queue(table).names().map(name => (name.lane, name.seq)).sorted

  protected def dataFiles(table: String): Set[String] = {
    val folder = Paths.get(Spark3Util.loadIcebergTable(spark, table).location().stripPrefix("file:")).resolve("data")
    if (!Files.exists(folder)) Set.empty
    else Using.resource(Files.walk(folder))(_.iterator().asScala.map(_.toString).filter(_.endsWith(".parquet")).toSet)
  }

  protected def newFolder(prefix: String): Path =
    Files.createTempDirectory(Files.createDirectories(Paths.get("target", "tmp")).toAbsolutePath, prefix)

  protected def append(frame: DataFrame, table: String): Unit =
    frame.write.format(Format).mode("append").save(table)

  /** Starts the stream, lets it read all that is there, and stops it. */
  protected def runOnce(writer: DataStreamWriter[Row], table: String): StreamingQuery = {
    val query = writer.format(Format).start(table)
    try query.processAllAvailable()
    finally query.stop()
    query
  }
}
