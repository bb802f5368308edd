package zonemap.spark.procedure

import java.util.UUID

import scala.util.Using

import org.apache.iceberg.{FileFormat, Schema, Table}
import org.apache.iceberg.formats.{FormatModelRegistry, ReadBuilder}
import org.apache.iceberg.io.CloseableIterable
import org.apache.iceberg.types.TypeUtil
import org.apache.spark.sql.catalyst.InternalRow

import zonemap.core.fact.FactBuilder
import zonemap.core.value._
import zonemap.iceberg.build.{FactInput, FactReader, FactRequest}

/**
 * Reads data files as Spark's scans do, with Iceberg's readers of Spark rows, but all rows that are physically there:
 * no delete file, no filter. Columns are found by field id, as always.
 */
private[procedure] final class SparkFactReader(table: Table) extends FactReader {
  private val schema = table.schema()

  override def read(file: FactInput, requests: Seq[FactRequest], builders: Seq[FactBuilder]): Unit = {
    val fieldIds = new java.util.HashSet[Integer]
    requests.foreach(request => fieldIds.add(request.fieldId))
    val projection = TypeUtil.project(schema, fieldIds)
    val tellers = requests.zip(builders).toArray.map { case (request, builder) =>
      new CellTeller(SparkFactReader.pathTo(projection, request.fieldId), request.columnType, builder)
    }
    Using.resource(rows(file, projection)) { rows =>
      rows.forEach { row =>
        var i = 0
        while (i < tellers.length) {
          tellers(i).tell(row)
          i += 1
        }
      }
    }
  }

  private def rows(file: FactInput, projection: Schema): CloseableIterable[InternalRow] = {
    val input = table.io().newInputFile(file.path, file.sizeBytes)
    val reader: ReadBuilder[InternalRow, AnyRef] =
      FormatModelRegistry.readBuilder(FileFormat.fromString(file.format), classOf[InternalRow], input)
    reader.project(projection).build()
  }
}

private object SparkFactReader {

  /** The ordinals, struct by struct, that lead to a field, each with the number of fields of its struct. */
  private def pathTo(projection: Schema, fieldId: Int): Array[(Int, Int)] = {
    val parents = TypeUtil.indexParents(projection.asStruct())
    val ids = Iterator
      .iterate(Option(Integer.valueOf(fieldId)))(_.flatMap(id => Option(parents.get(id))))
      .takeWhile(_.isDefined)
      .flatten
      .toSeq
      .reverse
    val structs = projection.asStruct() +: ids.init.map(id => projection.findType(id).asStructType())
    structs
      .zip(ids)
      .map { case (struct, id) =>
        (struct.fields().indexOf(struct.field(id)), struct.fields().size)
      }
      .toArray
  }
}

/** Tells a builder of one cell of each row. */
private final class CellTeller(path: Array[(Int, Int)], columnType: ColumnType, builder: FactBuilder) {

  def tell(row: InternalRow): Unit = {
    var struct = row
    var depth = 0
    while (struct != null && depth < path.length - 1) {
      val (ordinal, _) = path(depth)
      val fields = path(depth + 1)._2
      struct = if (struct.isNullAt(ordinal)) null else struct.getStruct(ordinal, fields)
      depth += 1
    }
    val ordinal = path(path.length - 1)._1
    if (struct == null || struct.isNullAt(ordinal)) builder.addNull() else tellValue(struct, ordinal)
  }

  private def tellValue(row: InternalRow, ordinal: Int): Unit =
    columnType match {
      case BooleanType                                => builder.add(ZoneValues.ofBoolean(row.getBoolean(ordinal)))
      case IntType | DateType                         => builder.add(ZoneValues.ofLong(row.getInt(ordinal).toLong))
      case LongType | TimestampType | TimestampTzType => builder.add(ZoneValues.ofLong(row.getLong(ordinal)))
      case FloatType                                  => tellDouble(row.getFloat(ordinal).toDouble)
      case DoubleType                                 => tellDouble(row.getDouble(ordinal))
      case StringType                                 => builder.add(BytesValue(row.getUTF8String(ordinal).getBytes))
      case BinaryType | FixedType(_)                  => builder.add(BytesValue(row.getBinary(ordinal)))
      case UuidType => builder.add(ZoneValues.ofUuid(UUID.fromString(row.getUTF8String(ordinal).toString)))
      case decimal @ DecimalType(precision, scale) =>
        val value = row.getDecimal(ordinal, precision, scale).toJavaBigDecimal
        builder.add(ZoneValues.ofDecimal(value.setScale(scale).unscaledValue, decimal))
      case other => throw new IllegalStateException(s"No values of type ${other.text}.")
    }

  private def tellDouble(value: Double): Unit =
    if (value.isNaN) builder.addNaN() else builder.add(ZoneValues.ofDouble(value))
}
