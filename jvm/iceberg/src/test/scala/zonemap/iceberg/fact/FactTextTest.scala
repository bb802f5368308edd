// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.fact

import java.nio.charset.StandardCharsets

import org.apache.iceberg.Schema
import org.apache.iceberg.types.Types
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.predicate.ColumnId
import zonemap.core.value.{BytesValue, LongType, TimestampTzType, ZoneValue, ZoneValues}
import zonemap.iceberg.convert.{ColumnNames, JsonPath, ValuePath, VariantPath}
import zonemap.iceberg.report.SqlText

/** Parses the notation of facts. */
class FactTextTest extends AnyFunSuite {

  test("items are split at commas outside quotes and parentheses") {
    assert(FactText.split("values(a, b) ,bloom(c)") == Seq("values(a, b)", "bloom(c)"))
    assert(FactText.split("values(t['a,(b']), x") == Seq("values(t['a,(b'])", "x"))
    assert(FactText.split("values(`a,b`)") == Seq("values(`a,b`)"))
    assert(FactText.split("a,,") == Seq("a", "", ""))
    "values( a ,t['x,''y)'] )" match {
      case FactText.Item(kind, columns) => assert((kind, columns) == (("values", Seq("a", "t['x,''y)']"))))
      case other                        => fail(other)
    }
  }

  test("backquotes around a name are no part of it, and two within them are one") {
    assert(
      Seq("a.b", " `a.b` ", "`we``ird`", "we`ird", "`", "``").map(FactText.bare) ==
        Seq("a.b", "a.b", "we`ird", "we`ird", "`", ""))
    assert(
      Seq("st.`a.b`", "`st`.`a``b`.c", "`a`b", "a.`b", "`a.b`.", "`$1`.x").map(FactText.bare) ==
        Seq("st.a.b", "st.a`b.c", "`a`b", "a.`b", "`a.b`.", "$1.x"))
    for (name <- Seq("a.b", "we`ird", "`x`", "a, (b)", "it's", "tags['a']", "größe"))
      assert(
        FactText.split(SqlText.factColumn(name)).map(n => FactText.MapKey.unapply(n).fold(FactText.bare(n))(_._1)) ==
          Seq(name.stripSuffix("['a']")),
        name)
  }

  test("paths in JSON are texts in quotes, and a name is printed as it is parsed") {
    def pathOf(column: String): Option[(String, String)] = FactText.PathInJson.unapply(column)
    assert(pathOf("get_json_object(j, '$.a')").contains(("j", "$.a")))
    assert(pathOf("GET_JSON_OBJECT ( at.`j, k` ,'$[''a, b'']' )").contains(("at.j, k", "$['a, b']")))
    Seq("get_json_object(j)", "get_json_object(j, $.a)", "j['$.a']", "from_json(j, '$.a')").foreach(c =>
      assert(pathOf(c).isEmpty, c))
    val item = "values(get_json_object(j, '$[''a, b'']'), k)"
    assert(FactText.split(item) == Seq(item))
    item match {
      case FactText.Item(_, columns) => assert(columns == Seq("get_json_object(j, '$[''a, b'']')", "k"))
      case other                     => fail(other)
    }
    val schema = new Schema(Types.NestedField.optional(1, "a, b", Types.StringType.get))
    for (path <- Seq("$.a", "$['x']", "it's", "a\nb, 'c')", "", "long" * 100000)) {
      val json = JsonPath("4.1.3", path)
      assert(ValuePath.of(ColumnId(1, Some(json.key))).contains(json))
      val name = ColumnNames.of(schema, ColumnId(1, Some(json.key)))
      assert(pathOf(SqlText.factColumn(name)).contains(("a, b", path)), name)
    }
    assert(ValuePath.of(ColumnId(1, Some(ZoneValues.ofString("4.1.3 $.a")))).isEmpty)
  }

  test("paths in variants have a type") {
    def pathOf(column: String): Option[(String, String, String)] = FactText.PathInVariant.unapply(column)
    assert(pathOf("variant_get(v, '$.a', 'int')").contains(("v", "$.a", "int")))
    assert(pathOf("Variant_Get ( at.`v, k` ,'$[''a, b'']' , 'STRING' )").contains(("at.v, k", "$['a, b']", "STRING")))
    Seq("variant_get(v, '$.a')", "variant_get(v, $.a, int)", "get_json_object(v, '$.a')").foreach(c =>
      assert(pathOf(c).isEmpty, c))
    val schema = new Schema(Types.NestedField.optional(1, "a, b", Types.VariantType.get))
    for {
      path <- Seq("$.a", "$['x']", "it's", "a\nb, 'c')", "", "long" * 100000)
      (sqlType, valueType) <- VariantPath.Types
    } {
      val column = ColumnId(1, Some(VariantPath("4.1.3-java17", path, valueType).key))
      assert(ValuePath.of(column).contains(VariantPath("4.1.3-java17", path, valueType)))
      assert(pathOf(SqlText.factColumn(ColumnNames.of(schema, column))).contains(("a, b", path, sqlType)))
      val other = ColumnId(1, Some(VariantPath("4.0.4-java21", path, valueType).key))
      assert(column != other && ValuePath.ofAnyEvaluator(column) == ValuePath.ofAnyEvaluator(other))
      assert(ValuePath.typeOf(column, Types.VariantType.get).contains(valueType))
      assert(ValuePath.typeOf(column, Types.StringType.get).isEmpty)
    }
    assert(VariantPath.typeOf("timestamp").isEmpty && VariantPath.typeOf("decimal(10, 2)").isEmpty)
    assert(VariantPath.typeOf(" BIGINT ").contains(LongType))
    intercept[IllegalArgumentException](VariantPath("4.1.3-java17", "$.a", TimestampTzType))
    // written by a later release
    val later = new String(Array[Byte](-2), StandardCharsets.ISO_8859_1) + "4.1.3 timestamptz $.a"
    assert(ValuePath.of(ColumnId(1, Some(BytesValue(later.getBytes(StandardCharsets.ISO_8859_1))))).isEmpty)
  }

  test("keys of maps are texts in quotes or whole numbers") {
    def keyOf(column: String): Option[(String, ZoneValue)] = FactText.MapKey.unapply(column)
    assert(keyOf("tags['type']").contains(("tags", ZoneValues.ofString("type"))))
    assert(keyOf("at.m[ 'it''s [x]' ]").map(_._2).contains(ZoneValues.ofString("it's [x]")))
    assert(keyOf("codes[-404]").contains(("codes", ZoneValues.ofLong(-404))))
    assert(keyOf("tags['']").contains(("tags", ZoneValues.ofString(""))))
    assert(keyOf(SqlText.factColumn(s"tags['${"x" * 100000}']")).exists(_._1 == "tags"))
    Seq("tags", "tags[type]", "tags['type'", "tags['a'b']", "codes[1.5]", "['x']").foreach(c =>
      assert(keyOf(c).isEmpty, c))
  }
}
