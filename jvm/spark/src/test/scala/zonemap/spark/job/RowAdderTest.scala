// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.job

import org.apache.iceberg.Schema
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.optional
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.fact.{FactBuilder, FactFile, FactKey, FactKind, KnownValues}
import zonemap.core.io.ByteSource
import zonemap.core.predicate.ColumnId
import zonemap.core.value.{ColumnType, LongType, StringType, ZoneValue, ZoneValues}

/** The cells of map rows that are added to a fact (S88, S89). */
class RowAdderTest extends AnyFunSuite {
  private val schema = new Schema(
    optional(1, "m", Types.MapType.ofOptional(2, 3, Types.StringType.get(), Types.StringType.get())),
    optional(
      4,
      "s",
      Types.StructType.of(
        optional(5, "c", Types.MapType.ofOptional(6, 7, Types.IntegerType.get(), Types.LongType.get()))))
  )

  private def told(column: ColumnId, columnType: ColumnType, rows: InternalRow*): (Set[ZoneValue], Boolean) = {
    val builder = FactBuilder.of(FactKind.Values, rows.size.toLong, 100)
    val adder = RowAdder.of(schema, column, new CellAdder(columnType, builder))
    rows.foreach(adder.add)
    val key = FactKey.of("f", 1)
    val bytes = FactFile.encode(FactKind.Values, column, columnType, Seq(key -> builder.build()))
    FactFile.open(ByteSource.ofBytes(bytes)).find(key) match {
      case Some(known: KnownValues) => (known.values.iterator.toSet, known.hasNulls)
      case other                    => fail(s"$other")
    }
  }

  private def text(value: String): Any = UTF8String.fromString(value)

  private def map(entries: (Any, Any)*): Any =
    new ArrayBasedMapData(new GenericArrayData(entries.map(_._1)), new GenericArrayData(entries.map(_._2)))

  private val kind = ColumnId(3, Some(ZoneValues.ofString("type")))

  private def ofKind(maps: Any*) = told(kind, StringType, maps.map(m => InternalRow(m, null)): _*)

  test("a missing key, a missing map and a null under the key are nulls") {
    val timer = ZoneValues.ofString("timer")
    assert(ofKind(map(text("host") -> text("a"), text("type") -> text("timer"))) == ((Set(timer), false)))
    Seq(null, map(), map(text("host") -> text("timer")), map(text("type") -> null)).foreach { m =>
      assert(ofKind(m) == ((Set.empty, true)))
    }
  }

  test("of a key that is there twice both values are told") {
    val twice = map(text("type") -> text("timer"), text("type") -> text("gauge"), text("type") -> null)
    assert(ofKind(twice) == ((Set("timer", "gauge").map(ZoneValues.ofString), true)))
  }

  test("whole numbers as keys, in a map of a struct") {
    val column = ColumnId(7, Some(ZoneValues.ofLong(404)))
    val rows = Seq(map(404 -> 7L, 200 -> 8L), map(200 -> 9L)).map(m => InternalRow(null, InternalRow(m)))
    assert(told(column, LongType, rows: _*) == ((Set(ZoneValues.ofLong(7)), true)))
    assert(told(column, LongType, InternalRow(null, null)) == ((Set.empty, true)))
  }
}
