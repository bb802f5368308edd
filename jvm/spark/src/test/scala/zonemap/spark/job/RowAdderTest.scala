// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.job

import org.apache.iceberg.Schema
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.optional
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.variant.VariantExpressionEvalUtils
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.fact.{FactBuilder, FactFile, FactKey, FactKind, KnownValues}
import zonemap.core.io.ByteSource
import zonemap.core.predicate.ColumnId
import zonemap.core.value.{ColumnType, IntType, LongType, StringType, ZoneValue, ZoneValues}
import zonemap.iceberg.convert.{JsonPath, VariantPath}
import zonemap.spark.expression.ValueAtPath

/** The cells of rows with maps and lists that are added to a fact (S88, S89, S157). */
class RowAdderTest extends AnyFunSuite {
  private val schema = new Schema(
    optional(1, "m", Types.MapType.ofOptional(2, 3, Types.StringType.get(), Types.StringType.get())),
    optional(
      4,
      "s",
      Types.StructType.of(
        optional(5, "c", Types.MapType.ofOptional(6, 7, Types.IntegerType.get(), Types.LongType.get()))))
  )

  private val lists = new Schema(
    optional(1, "a", Types.ListType.ofOptional(2, Types.LongType.get())),
    optional(
      3,
      "s",
      Types.StructType.of(
        optional(
          4,
          "items",
          Types.ListType.ofOptional(
            5,
            Types.StructType.of(
              optional(6, "id", Types.LongType.get()),
              optional(7, "at", Types.StructType.of(optional(8, "sku", Types.LongType.get())))))
        ))
    )
  )

  private def told(column: ColumnId, columnType: ColumnType, rows: InternalRow*): (Set[ZoneValue], Boolean) =
    toldOf(schema, column, columnType, rows)

  private def toldOf(
      projection: Schema,
      column: ColumnId,
      columnType: ColumnType,
      rows: Seq[InternalRow]): (Set[ZoneValue], Boolean) = {
    val builder = FactBuilder.of(FactKind.Values, rows.size.toLong, 100)
    val adder = RowAdder.of(projection, column, new CellAdder(columnType, builder))
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

  test("the text at a path of JSON is what Spark returns; null if there is none, and of another Spark it is refused") {
    val lines = new Schema(optional(1, "j", Types.StringType.get()))
    def ofPath(path: String, evaluator: String = ValueAtPath.Evaluator)(rows: Any*) = {
      val column = ColumnId(1, Some(JsonPath(evaluator, path).key))
      toldOf(lines, column, StringType, rows.map(InternalRow(_)))
    }
    val rows = Seq("""{"a": {"b": "x"}, "n": 7.70}""", """{"a": {"b": "\u0079"}}""").map(text)
    assert(ofPath("$.a.b")(rows: _*) == ((Set("x", "y").map(ZoneValues.ofString), false)))
    assert(ofPath("$.n")(rows: _*) == ((Set(ZoneValues.ofString("7.7")), true)))
    assert(ofPath("$.a")(rows.head) == ((Set(ZoneValues.ofString("""{"b":"x"}""")), false)))
    assert(ofPath("$.a.b")(null, text("{"), text(""), text("""{"a": 1}""")) == ((Set.empty, true)))
    assert(ofPath("no path")(rows: _*) == ((Set.empty, true)))
    assert(intercept[IllegalArgumentException](ofPath("$.a", "4.1.0")(rows: _*)).getMessage.contains("4.1.0"))
  }

  test("the value at a path of variants is what Spark returns; a file with a row that fails has no fact") {
    val variants = new Schema(optional(1, "v", Types.VariantType.get))
    def ofPath(path: String, valueType: ColumnType)(documents: String*): FactBuilder = {
      val at = VariantPath(ValueAtPath.Evaluator, path, valueType)
      val builder = FactBuilder.of(FactKind.Values, documents.size.toLong, 100)
      val adder = RowAdder.of(variants, ColumnId(1, Some(at.key)), new CellAdder(valueType, builder))
      documents.foreach { document =>
        val whole =
          if (document == null) null
          else VariantExpressionEvalUtils.parseJson(UTF8String.fromString(document), false, true)
        adder.add(InternalRow(whole))
      }
      builder
    }
    def valuesOf(builder: FactBuilder): (Set[ZoneValue], Boolean) = {
      val key = FactKey.of("f", 1)
      val bytes = FactFile.encode(FactKind.Values, ColumnId(1), LongType, Seq(key -> builder.result()))
      FactFile.open(ByteSource.ofBytes(bytes)).find(key) match {
        case Some(known: KnownValues) => (known.values.iterator.toSet, known.hasNulls)
        case other                    => fail(s"$other")
      }
    }
    val documents = Seq("""{"a": 7}""", """{"a": "8"}""", """{"a": 9.4}""", """{"b": 1}""", """{"a": null}""", null)
    assert(valuesOf(ofPath("$.a", LongType)(documents: _*)) == ((longs(7, 8, 9), true)))
    assert(valuesOf(ofPath("$.a", LongType)(documents.take(3): _*)) == ((longs(7, 8, 9), false)))
    for (failing <- Seq("""{"a": "x"}""", """{"a": {}}""", """{"a": 1e300}"""))
      assert(ofPath("$.a", LongType)(documents :+ failing: _*).result().isEmpty, failing)
    // their texts depend on the version of Java, or can have dates within
    for (unsteady <- Seq("""{"a": 1e300}""", """{"a": {"b": 1}}""", """{"a": [1]}"""))
      assert(ofPath("$.a", StringType)(documents :+ unsteady: _*).result().isEmpty, unsteady)
    assert(ofPath("$.a", StringType)(documents :+ """{"a": true}""": _*).result().nonEmpty)
    assert(ofPath("no path", LongType)(documents: _*).result().isEmpty)
  }

  test("whole numbers as keys, in a map of a struct") {
    val column = ColumnId(7, Some(ZoneValues.ofLong(404)))
    val rows = Seq(map(404 -> 7L, 200 -> 8L), map(200 -> 9L)).map(m => InternalRow(null, InternalRow(m)))
    assert(told(column, LongType, rows: _*) == ((Set(ZoneValues.ofLong(7)), true)))
    assert(told(column, LongType, InternalRow(null, null)) == ((Set.empty, true)))
  }

  private def list(elements: Any*): Any = new GenericArrayData(elements)

  private def longs(values: Long*): Set[ZoneValue] = values.map(ZoneValues.ofLong).toSet

  test("the elements of all lists; a null element is null, and a row without elements adds nothing (S157)") {
    def ofElements(rows: Any*) = toldOf(lists, ColumnId(2), LongType, rows.map(InternalRow(_, null)))
    assert(ofElements(list(1L, 2L), list(2L, 7L)) == ((longs(1, 2, 7), false)))
    assert(ofElements(list(1L, null)) == ((longs(1), true)))
    assert(ofElements(null, list(), list(3L)) == ((longs(3), false)))
    assert(ofElements(null, list()) == ((Set.empty, false)))
  }

  test("a field of elements: a null element has a null field (S157)") {
    def items(elements: Any*) = InternalRow(null, InternalRow(list(elements: _*)))
    def item(id: Any, sku: Any) = InternalRow(id, InternalRow(sku))
    def ofField(fieldId: Int)(rows: InternalRow*) = toldOf(lists, ColumnId(fieldId), LongType, rows)
    val rows = Seq(items(item(1L, 10L), item(2L, 20L)), items(item(3L, 30L)))
    assert(ofField(6)(rows: _*) == ((longs(1, 2, 3), false)))
    assert(ofField(8)(rows: _*) == ((longs(10, 20, 30), false)))
    assert(ofField(6)(items(null, item(1L, 10L))) == ((longs(1), true)))
    assert(ofField(8)(items(InternalRow(1L, null))) == ((Set.empty, true)))
  }

  test("a field of elements: a list without elements can have elements with a null field (S157)") {
    for (struct <- Seq(null, InternalRow(null), InternalRow(list())))
      assert(toldOf(lists, ColumnId(8), LongType, Seq(InternalRow(null, struct))) == ((Set.empty, true)))
  }

  test("the keys and the values of maps (S157)") {
    val rows = Seq(map(text("a") -> text("x"), text("b") -> null), map(), null, map(text("a") -> text("y")))
      .map(InternalRow(_, null))
    assert(told(ColumnId(2), StringType, rows: _*) == ((Set("a", "b").map(ZoneValues.ofString), false)))
    assert(told(ColumnId(3), StringType, rows: _*) == ((Set("x", "y").map(ZoneValues.ofString), true)))
    assert(told(ColumnId(6), IntType, InternalRow(null, InternalRow(map(404 -> 7L)))) == ((longs(404), false)))
  }
}
