package zonemap.benchmarks.ingest

import java.io.File
import java.nio.file.{Files => JFiles}
import java.util.UUID

import org.apache.iceberg.{DataFile, DataFiles, FileFormat, Files, PartitionSpec, Schema, Table}
import org.apache.iceberg.data.GenericRecord
import org.apache.iceberg.data.parquet.GenericParquetWriter
import org.apache.iceberg.parquet.Parquet
import org.apache.iceberg.types.Types

/** The rows of one append: a small Parquet file of six columns, as a gateway writes it. */
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

  /** Writes the data file of an append at its final place. */
  def write(table: Table, writer: Int, number: Int): DataFile = {
    val folder = new File(table.location().stripPrefix("file:"), "data")
    JFiles.createDirectories(folder.toPath)
    val file = new File(folder, s"$writer-$number-${UUID.randomUUID()}.parquet")
    val appender = Parquet
      .write(Files.localOutput(file))
      .schema(Columns)
      .createWriterFunc((schema, kind) => GenericParquetWriter.create(schema, kind))
      .build[GenericRecord]()
    try (0 until AnAppend).foreach(row => appender.add(record(writer, number, row)))
    finally appender.close()
    DataFiles
      .builder(Spec)
      .withPath(file.getPath)
      .withFormat(FileFormat.PARQUET)
      .withFileSizeInBytes(appender.length())
      .withMetrics(appender.metrics())
      .build()
  }

  private def record(writer: Int, number: Int, row: Int) = {
    val id = number.toLong * AnAppend + row
    val record = GenericRecord.create(Columns)
    Seq[Any](id, 1704067200000L + id, writer.toLong, row % 7, id / 100.0, s"host-$writer").zipWithIndex.foreach {
      case (value, at) => record.set(at, value)
    }
    record
  }
}
