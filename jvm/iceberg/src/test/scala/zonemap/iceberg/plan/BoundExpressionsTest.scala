// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import org.apache.iceberg.Schema
import org.apache.iceberg.types.Types
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.column.ColumnBounds
import zonemap.core.predicate.{And, ColumnRef, InRanges, Or, Predicate, True, ValueRanges}
import zonemap.core.rule.{ColumnZone, Match, ZoneMatch}
import zonemap.core.value.{BytesValue, ColumnType, DateType, IntType, LongType, LongValue, Presence}
import zonemap.iceberg.prune.BoundScan

/** Conditions derived from expressions are applied by field id and type, and never prove that all rows match. */
class BoundExpressionsTest extends AnyFunSuite {
  private val schema = new Schema(
    Types.NestedField.optional(1, "x", Types.LongType.get),
    Types.NestedField.optional(2, "y", Types.StringType.get))

  private def in(id: Int, columnType: ColumnType): Predicate =
    InRanges(ColumnRef(id, columnType, "x"), ValueRanges.between(LongValue(3), LongValue(5)))

  test("a column that the schema lacks, or has with a type of another order, tells nothing") {
    Seq[(Predicate, Predicate)](
      in(1, LongType) -> in(1, LongType),
      in(1, IntType) -> in(1, IntType),
      in(1, DateType) -> True,
      in(2, LongType) -> True,
      in(7, LongType) -> True,
      And(Seq(in(1, LongType), in(7, LongType))) -> in(1, LongType),
      Or(Seq(in(1, LongType), in(7, LongType))) -> True
    ).foreach { case (expressions, fitting) => assert(BoundScan.fitting(expressions, schema, schema) == fitting) }
  }

  test("a column that the scan reads under another name tells nothing (S208)") {
    def read(columns: Types.NestedField*) = new Schema(columns: _*)
    def column(id: Int, name: String) = Types.NestedField.optional(id, name, Types.LongType.get)
    val x = in(1, LongType)
    Seq(
      read(column(1, "x")) -> x,
      read() -> x, // only its bounds are asked for
      read(column(2, "y")) -> x,
      read(column(1, "old")) -> True,
      read(column(2, "x")) -> True,
      read(column(1, "y"), column(2, "x")) -> True
    ).foreach { case (projection, fitting) => assert(BoundScan.fitting(x, schema, projection) == fitting, projection) }
  }

  test("a map that the scan reads under another name tells nothing of its keys (S208)") {
    def map(id: Int, name: String) =
      Types.NestedField.optional(id, name, Types.MapType.ofOptional(11, 12, Types.StringType.get, Types.LongType.get))
    val key = BytesValue("a".getBytes)
    val ofKey = InRanges(ColumnRef(12, LongType, "m['a']", Some(key)), ValueRanges.between(LongValue(3), LongValue(5)))
    val schema = new Schema(map(3, "m"))
    Seq(schema -> ofKey, new Schema(map(3, "n")) -> True, new Schema() -> True).foreach { case (projection, fitting) =>
      assert(BoundScan.fitting(ofKey, schema, projection) == fitting, projection)
    }
  }

  test("a proof for all rows needs the column, with a type of the same order") {
    val bounds = ColumnBounds(LongValue(3), LongValue(4), tight = true, Presence.None, Presence.None)
    def answer(condition: Predicate) =
      ZoneMatch.evaluate(BoundScan.proving(condition, schema), _ => Some(ColumnZone(LongType, bounds)))
    assert(answer(in(1, LongType)) == Match.All)
    Seq(in(7, LongType), in(1, DateType), And(Seq(in(1, LongType), in(7, LongType)))).foreach { condition =>
      assert(answer(condition) == Match.Some, condition)
    }
  }

  test("a file is ruled out, and never taken whole") {
    def answer(lower: Long, upper: Long) = {
      val bounds = ColumnBounds(LongValue(lower), LongValue(upper), tight = true, Presence.None, Presence.None)
      ZoneMatch.evaluate(
        BoundScan(Map.empty, schema, True, in(1, LongType)).predicate,
        _ => Some(ColumnZone(LongType, bounds)))
    }
    assert(answer(5, 9) == Match.None && answer(3, 4) == Match.Some && answer(0, 9) == Match.Some)
  }
}
