// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.ingest

import java.io.File
import java.nio.file.{Files => JFiles}
import java.util.UUID

import org.apache.iceberg.{DataFile, DataFiles, FileFormat, Files, PartitionSpec, Schema, Table}
import org.apache.iceberg.data.GenericRecord
import org.apache.iceberg.data.parquet.GenericParquetWriter
import org.apache.iceberg.parquet.Parquet
import org.apache.iceberg.types.Types

/** The rows of one append: a small Parquet file of six columns. Its encoding is no part of what is measured. */
object Rows {
  val AnAppend = 20

  val Columns = new Schema(
    Types.NestedField.optional(1, "id", Types.LongType.get()),
    Types.NestedField.optional(2, "ts", Types.LongType.get()),
    Types.NestedField.optional(3, "device", Types.LongType.get()),
    Types.NestedField.optional(4, "metric", Types.IntegerType.get()),
    Types.NestedField.optional(5, "value", Types.DoubleType.get()),
    Types.NestedField.optional(6, "host", Types.StringType.get())
  )

  private val Spec = PartitionSpec.unpartitioned()

  /** A Parquet file that is written once; the data file of each append is a copy of it. */
  private lazy val (bytes, metrics) = {
    val file = File.createTempFile("append", ".parquet")
    val appender = Parquet
      .write(Files.localOutput(file))
      .overwrite()
      .schema(Columns)
      .createWriterFunc((schema, kind) => GenericParquetWriter.create(schema, kind))
      .build[GenericRecord]()
    try (0 until AnAppend).foreach(row => appender.add(record(row)))
    finally appender.close()
    try (JFiles.readAllBytes(file.toPath), appender.metrics())
    finally JFiles.delete(file.toPath)
  }

  /** Writes the data file of an append at its final place. */
  def write(table: Table): DataFile = {
    val folder = new File(table.location().stripPrefix("file:"), "data").toPath
    JFiles.createDirectories(folder)
    val file = JFiles.write(folder.resolve(s"${UUID.randomUUID()}.parquet"), bytes)
    DataFiles
      .builder(Spec)
      .withPath(file.toString)
      .withFormat(FileFormat.PARQUET)
      .withFileSizeInBytes(bytes.length.toLong)
      .withMetrics(metrics)
      .build()
  }

  private def record(row: Int) = {
    val record = GenericRecord.create(Columns)
    Seq[Any](row.toLong, 1704067200000L + row, row % 3L, row % 7, row / 100.0, s"host-${row % 5}").zipWithIndex
      .foreach { case (value, at) =>
        record.set(at, value)
      }
    record
  }
}
