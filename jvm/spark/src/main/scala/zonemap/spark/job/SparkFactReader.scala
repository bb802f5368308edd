// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.job

import scala.util.Using

import org.apache.iceberg.{FileFormat, Schema, Table}
import org.apache.iceberg.avro.Avro
import org.apache.iceberg.io.CloseableIterable
import org.apache.iceberg.orc.ORC
import org.apache.iceberg.parquet.Parquet
import org.apache.iceberg.spark.data.{SparkOrcReader, SparkParquetReaders, SparkPlannedAvroReader}
import org.apache.iceberg.types.TypeUtil
import org.apache.spark.sql.catalyst.InternalRow

import zonemap.core.fact.FactBuilder
import zonemap.iceberg.convert.MappedNames
import zonemap.iceberg.fact.{FactInput, FactReader, FactRequest}

/**
 * Reads data files like Spark's scans, with Iceberg's readers of Spark rows, but without delete files and filters: it
 * reads all rows in the file. It finds columns by field id, in files without field ids by the table's name mapping.
 */
private[zonemap] final class SparkFactReader(table: Table) extends FactReader {
  private val schema = table.schema()

  override def read(file: FactInput, requests: Seq[FactRequest], builders: Seq[FactBuilder]): Unit = {
    val fieldIds = new java.util.HashSet[Integer]
    requests.foreach(request => fieldIds.add(request.column.fieldId))
    val projection = TypeUtil.project(schema, fieldIds)
    val adders = requests.zip(builders).toArray.map { case (request, builder) =>
      RowAdder.of(projection, request.column, new CellAdder(request.columnType, builder))
    }
    Using.resource(rows(file, projection)) { rows =>
      rows.forEach { row =>
        var i = 0
        while (i < adders.length) {
          adders(i).add(row)
          i += 1
        }
      }
    }
  }

  private def rows(file: FactInput, projection: Schema): CloseableIterable[InternalRow] = {
    val input = table.io().newInputFile(file.path, file.sizeBytes)
    val names = MappedNames.of(table)
    FileFormat.fromString(file.format) match {
      case FileFormat.PARQUET =>
        val reader = Parquet.read(input).project(projection)
        names.foreach(reader.withNameMapping)
        reader.createReaderFunc(stored => SparkParquetReaders.buildReader(projection, stored)).build()
      case FileFormat.ORC =>
        val reader = ORC.read(input).project(projection)
        names.foreach(reader.withNameMapping)
        reader.createReaderFunc(stored => new SparkOrcReader(projection, stored)).build()
      case FileFormat.AVRO =>
        val reader = Avro.read(input).project(projection)
        names.foreach(reader.withNameMapping)
        reader.createResolvingReader(SparkPlannedAvroReader.create(_)).build()
      case other => throw new UnsupportedOperationException(s"files of the format $other cannot be read for facts")
    }
  }
}
