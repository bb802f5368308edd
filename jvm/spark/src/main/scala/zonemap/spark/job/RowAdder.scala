// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.job

import java.util.UUID

import scala.util.control.NonFatal

import org.apache.iceberg.Schema
import org.apache.iceberg.types.{Type, Types}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, SpecializedGetters}
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.unsafe.types.UTF8String

import zonemap.core.fact.FactBuilder
import zonemap.core.predicate.ColumnId
import zonemap.core.value._
import zonemap.iceberg.convert.{FieldPaths, ValuePath}
import zonemap.spark.expression.ValueAtPath

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

  def of(projection: Schema, column: ColumnId, cells: CellAdder): RowAdder = {
    val root = projection.asStruct()
    val ids = new FieldPaths(projection).of(column.fieldId)
    val (structs, rest) = ids.init.span(projection.findType(_).isStructType)
    val within = ValuePath.of(column).map(new ValueAtPathAdder(_, cells))
    if (rest.isEmpty) new RowAdder(path(root, ids), within.fold(cells.add _)(_.add _), () => cells.addNull())
    else {
      val toContainer = path(root, structs :+ rest.head)
      (projection.findType(rest.head), column.mapKey) match {
        case (map: Types.MapType, Some(key)) =>
          val keys = new MapKeyAdder(map, key, cells)
          new RowAdder(toContainer, (row, ordinal) => keys.add(row.getMap(ordinal)), () => cells.addNull())
        case (container, _) =>
          val inContainer = ids.drop(structs.size + 1)
          val ofElement = elementAdder(projection, inContainer, cells)
          val elements = elementsOf(container, inContainer.head)
          // readers can omit all structs of a list if the file lacks the field, which is null in each of them
          val addNone = if (inContainer.sizeIs > 1) () => cells.addNull() else () => ()
          new RowAdder(toContainer, (row, ordinal) => addEach(elements(row, ordinal), ofElement, addNone), addNone)
      }
    }
  }

  /** Reads the elements of a list, or the keys or the values of a map. */
  private def elementsOf(container: Type, elementId: Int): (SpecializedGetters, Int) => ArrayData =
    container match {
      case map: Types.MapType if map.keyId() == elementId => (row, ordinal) => row.getMap(ordinal).keyArray()
      case _: Types.MapType                               => (row, ordinal) => row.getMap(ordinal).valueArray()
      case _                                              => (row, ordinal) => row.getArray(ordinal)
    }

  /** Adds an element, or a field of an element that is a struct; a field of a null is null. */
  private def elementAdder(projection: Schema, ids: Seq[Int], cells: CellAdder): (ArrayData, Int) => Unit =
    if (ids.sizeIs == 1) (elements, i) => if (elements.isNullAt(i)) cells.addNull() else cells.add(elements, i)
    else {
      val struct = projection.findType(ids.head).asStructType()
      val fields = struct.fields().size
      val adder = new RowAdder(path(struct, ids.tail), cells.add, () => cells.addNull())
      (elements, i) => if (elements.isNullAt(i)) cells.addNull() else adder.add(elements.getStruct(i, fields))
    }

  private def addEach(elements: ArrayData, add: (ArrayData, Int) => Unit, addNone: () => Unit): Unit = {
    if (elements.numElements() == 0) addNone()
    var i = 0
    while (i < elements.numElements()) {
      add(elements, i)
      i += 1
    }
  }

  /** Returns for each field on a path of structs its ordinal within its struct, and the number of fields there. */
  private def path(root: Types.StructType, ids: Seq[Int]): Array[(Int, Int)] =
    ids
      .scanLeft((root, (0, 0))) { case ((struct, _), id) =>
        val field = struct.field(id)
        val inner = if (field.`type`().isStructType) field.`type`().asStructType() else struct
        (inner, (struct.fields().indexOf(field), struct.fields().size))
      }
      .tail
      .map(_._2)
      .toArray
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

/** Adds the value at a path within a value, or null if there is none. */
private final class ValueAtPathAdder(path: ValuePath, cells: CellAdder) {
  private val (wholeType, read) = ValueAtPath.of(path)
  private val found = new GenericInternalRow(1)
  private var hasFailed = false

  def add(row: SpecializedGetters, ordinal: Int): Unit = if (!hasFailed) {
    try {
      found.update(0, read(row.get(ordinal, wholeType)))
      if (found.isNullAt(0)) cells.addNull() else cells.add(found, 0)
    } catch {
      case NonFatal(_) =>
        hasFailed = true
        cells.addFailure()
    }
  }
}

/** Adds values to a [[FactBuilder]], with the accessor and encoding of the column's type. */
private[zonemap] final class CellAdder(columnType: ColumnType, builder: FactBuilder) {

  def addNull(): Unit = builder.addNull()

  def addFailure(): Unit = builder.addFailure()

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
