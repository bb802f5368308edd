// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.job

import scala.util.Using

import org.apache.iceberg.{FileFormat, Schema, Table}
import org.apache.iceberg.formats.{FormatModelRegistry, ReadBuilder}
import org.apache.iceberg.io.CloseableIterable
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
    val reader: ReadBuilder[InternalRow, AnyRef] =
      FormatModelRegistry.readBuilder(FileFormat.fromString(file.format), classOf[InternalRow], input)
    val mapped = MappedNames.of(table).fold(reader)(reader.withNameMapping(_))
    mapped.project(projection).build()
  }
}
