// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.strategies

import java.nio.ByteBuffer
import java.util.{HashMap => JHashMap}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.{DataFiles, FileFormat, ManifestFile, ManifestFiles, Metrics, PartitionSpec, Schema, Table}
import org.apache.iceberg.catalog.{Catalog, TableIdentifier}
import org.apache.iceberg.types.{Conversions, Types}
import org.apache.spark.sql.{DataFrame, SparkSession}

/**
 * The table of a stream: narrow rows in time order, unpartitioned, 32 files per batch.
 *
 * The past of the table is metadata only: manifests of data files that were never written, shared by all tables of the
 * benchmark. Every file of the past covers one second; the stream continues at the end of the past.
 *
 * @param past number of files of the past
 * @param rows number of rows of a batch
 */
final class StreamTable(spark: SparkSession, catalog: Catalog, folder: String, val past: Int, rows: Int) {
  import StreamTable._

  private val manifests: Seq[ManifestFile] = {
    val scratch =
      catalog.createTable(TableIdentifier.of("db", s"past_$past"), Columns, PartitionSpec.unpartitioned(), Version)
    (0 until past)
      .grouped(FilesAManifest)
      .zipWithIndex
      .map { case (files, n) =>
        val output = scratch.io().newOutputFile(s"$folder/past-$past/manifest-$n.avro")
        val writer = ManifestFiles.write(2, scratch.spec(), output, null)
        Using.resource(writer)(w => files.foreach(i => w.add(pastFile(i))))
        writer.toManifestFile
      }
      .toIndexedSeq
  }

  /** The first second of the stream, in seconds since the epoch. */
  val streamStart: Long = FirstSecond + past

  /** Creates a table that contains the past. */
  def create(name: String): Table = {
    val table = createEmpty(name)
    manifests.grouped(math.max(1, manifests.size / 20)).foreach { group =>
      val append = table.newFastAppend()
      group.foreach(append.appendManifest)
      append.commit()
    }
    table
  }

  def createEmpty(name: String): Table =
    catalog.createTable(TableIdentifier.of("db", name), Columns, PartitionSpec.unpartitioned(), Version)

  /** Commits the metadata of batch `number`: as many files as a batch has, but no rows. */
  def commitFiles(table: Table, number: Int): Unit = {
    val append = table.newFastAppend()
    (0 until FilesABatch).foreach(file => append.appendFile(pastFile(number * FilesABatch + file)))
    append.commit()
  }

  /** The rows of batch `number`, in 32 partitions; each batch covers ten seconds of the stream. */
  def batch(number: Int): DataFrame =
    spark
      .range(number.toLong * rows, (number + 1L) * rows, 1, FilesABatch)
      .selectExpr(
        "id",
        s"timestamp_micros(CAST((${streamStart}L + ${number}L * $SecondsABatch) * 1000000 + (id % $rows) * ($SecondsABatch * 1000000L DIV $rows) AS BIGINT)) AS ts",
        "CAST(pmod(hash(id), 100000) AS BIGINT) AS device",
        "CAST(pmod(hash(id, 1), 5000) AS INT) AS metric",
        "pmod(hash(id, 2), 1000000) / 100D AS value",
        "concat('host-', pmod(hash(id, 3), 64)) AS host"
      )

  private def pastFile(i: Int) = {
    val lower, upper = new JHashMap[Integer, ByteBuffer]
    val counts, nulls = new JHashMap[Integer, java.lang.Long]
    def put(id: Int, from: Any, until: Any): Unit = {
      lower.put(id, Conversions.toByteBuffer(Columns.findType(id), from))
      upper.put(id, Conversions.toByteBuffer(Columns.findType(id), until))
      counts.put(id, FileRows)
      nulls.put(id, 0L): Unit
    }
    put(1, i * FileRows - past * FileRows, (i + 1) * FileRows - past * FileRows - 1)
    put(2, (FirstSecond + i) * 1000000L, (FirstSecond + i) * 1000000L + 999999L)
    put(3, i % 7L, 99990L + i % 9)
    put(4, i % 5, 4990 + i % 9)
    put(5, i % 11 / 100.0, 9999.0 + i % 90 / 100.0)
    put(6, "host-0", "host-9")
    DataFiles
      .builder(PartitionSpec.unpartitioned())
      .withPath(f"file:/stream/data/part-$i%09d-${(i * 2654435761L).toHexString}.parquet")
      .withFormat(FileFormat.PARQUET)
      .withFileSizeInBytes(8L << 20)
      .withMetrics(new Metrics(FileRows, null, counts, nulls, new JHashMap, lower, upper))
      .build()
  }
}

object StreamTable {
  val FilesABatch = 32
  val SecondsABatch = 10
  private val FilesAManifest = 3200
  private val FileRows: java.lang.Long = 43000L
  private val FirstSecond = 1704067200L

  /** Appends do not merge manifests, because the appends of a structured streaming query never merge manifests. */
  private val Version =
    Map("format-version" -> "2", "write.distribution-mode" -> "none", "commit.manifest-merge.enabled" -> "false").asJava

  val Columns = new Schema(
    Types.NestedField.optional(1, "id", Types.LongType.get()),
    Types.NestedField.optional(2, "ts", Types.TimestampType.withZone()),
    Types.NestedField.optional(3, "device", Types.LongType.get()),
    Types.NestedField.optional(4, "metric", Types.IntegerType.get()),
    Types.NestedField.optional(5, "value", Types.DoubleType.get()),
    Types.NestedField.optional(6, "host", Types.StringType.get())
  )
}
