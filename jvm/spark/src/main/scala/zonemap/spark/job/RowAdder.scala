// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.job

import java.util.UUID

import org.apache.iceberg.Schema
import org.apache.iceberg.types.{Type, TypeUtil, Types}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.fact.FactBuilder
import zonemap.core.predicate.ColumnId
import zonemap.core.value._

/** Adds the value of one column of each row to a [[FactBuilder]]. */
private[zonemap] final class RowAdder(
    path: Array[(Int, Int)],
    addCell: (SpecializedGetters, Int) => Unit,
    addNull: () => Unit) {

  def add(row: InternalRow): Unit = {
    var struct = row
    var depth = 0
    while (struct != null && depth < path.length - 1) {
      val (ordinal, _) = path(depth)
      val fields = path(depth + 1)._2
      struct = if (struct.isNullAt(ordinal)) null else struct.getStruct(ordinal, fields)
      depth += 1
    }
    val ordinal = path(path.length - 1)._1
    if (struct == null || struct.isNullAt(ordinal)) addNull() else addCell(struct, ordinal)
  }
}

private[zonemap] object RowAdder {

  def of(projection: Schema, column: ColumnId, cells: CellAdder): RowAdder =
    column.mapKey match {
      case None => new RowAdder(pathTo(projection, column.fieldId), cells.add, () => cells.addNull())
      case Some(key) =>
        val mapId = TypeUtil.indexParents(projection.asStruct()).get(Integer.valueOf(column.fieldId))
        val keys = new MapKeyAdder(projection.findType(mapId).asMapType(), key, cells)
        new RowAdder(pathTo(projection, mapId), (row, ordinal) => keys.add(row.getMap(ordinal)), () => cells.addNull())
    }

  /** Returns the path to a field: for each struct on it, the ordinal within the struct and its number of fields. */
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

/**
 * Adds a map's value of one key, or null if the map lacks the key. If a map in a file holds the key twice, both values
 * are added, because Spark may return either.
 */
private final class MapKeyAdder(map: Types.MapType, key: ZoneValue, cells: CellAdder) {
  private val isKey: (ArrayData, Int) => Boolean =
    (key, map.keyType().typeId()) match {
      case (BytesValue(bytes), _) =>
        val text = UTF8String.fromBytes(bytes)
        (keys, i) => keys.getUTF8String(i) == text
      case (LongValue(v), Type.TypeID.INTEGER) => (keys, i) => keys.getInt(i).toLong == v
      case (LongValue(v), _)                   => (keys, i) => keys.getLong(i) == v
    }

  def add(entries: MapData): Unit = {
    val keys = entries.keyArray()
    val values = entries.valueArray()
    var found = false
    var i = 0
    while (i < entries.numElements()) {
      if (!keys.isNullAt(i) && isKey(keys, i)) {
        found = true
        if (values.isNullAt(i)) cells.addNull() else cells.add(values, i)
      }
      i += 1
    }
    if (!found) cells.addNull()
  }
}

/** Adds values to a [[FactBuilder]], with the accessor and encoding of the column's type. */
private[zonemap] final class CellAdder(columnType: ColumnType, builder: FactBuilder) {

  def addNull(): Unit = builder.addNull()

  /** Adds a value that is not null. */
  def add(row: SpecializedGetters, ordinal: Int): Unit =
    columnType match {
      case BooleanType                                => builder.add(ZoneValues.ofBoolean(row.getBoolean(ordinal)))
      case IntType | DateType                         => builder.add(ZoneValues.ofLong(row.getInt(ordinal).toLong))
      case LongType | TimestampType | TimestampTzType => builder.add(ZoneValues.ofLong(row.getLong(ordinal)))
      case FloatType                                  => addDouble(row.getFloat(ordinal).toDouble)
      case DoubleType                                 => addDouble(row.getDouble(ordinal))
      case StringType                                 => builder.add(BytesValue(row.getUTF8String(ordinal).getBytes))
      case BinaryType | FixedType(_)                  => builder.add(BytesValue(row.getBinary(ordinal)))
      case UuidType => builder.add(ZoneValues.ofUuid(UUID.fromString(row.getUTF8String(ordinal).toString)))
      case decimal @ DecimalType(precision, scale) =>
        val value = row.getDecimal(ordinal, precision, scale).toJavaBigDecimal
        builder.add(ZoneValues.ofDecimal(value.setScale(scale).unscaledValue, decimal))
      case other => throw new IllegalStateException(s"No values of type ${other.text}.")
    }

  private def addDouble(value: Double): Unit =
    if (value.isNaN) builder.addNaN() else builder.add(ZoneValues.ofDouble(value))
}
