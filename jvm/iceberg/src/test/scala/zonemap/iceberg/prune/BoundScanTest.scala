// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.prune

import org.apache.iceberg.{PartitionSpec, Schema, Table}
import org.apache.iceberg.expressions.{Expression, Expressions}
import org.apache.iceberg.types.{Type, Types}
import org.apache.iceberg.types.Types.NestedField.{optional, required}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.predicate.ColumnRef
import zonemap.core.value.{ColumnType, LongType, StringType}
import zonemap.iceberg.convert.VariantPath
import zonemap.iceberg.report.StockReason
import zonemap.iceberg.testing.TestTable

/** Checks to which schema a filter is bound when the schemas of the relation, the snapshot and the table differ. */
class BoundScanTest extends AnyFunSuite {
  private val (int, long) = (Types.IntegerType.get(), Types.LongType.get())

  private def schema(columns: (Int, String, Type)*): Schema = {
    val fields = required(1, "id", Types.LongType.get()) +: columns.map { case (id, name, t) => optional(id, name, t) }
    new Schema(fields: _*)
  }

  private def bind(
      projection: Schema,
      snapshot: Schema,
      current: Schema,
      filter: Expression,
      caseSensitive: Boolean = true,
      partitionBy: String = null) = {
    def spec(s: Schema): PartitionSpec =
      if (partitionBy == null) PartitionSpec.unpartitioned()
      else {
        val source = Seq(snapshot, current).flatMap(x => Option(x.findField(partitionBy))).head.fieldId()
        PartitionSpec.builderFor(s).identity(s.findColumnName(source)).build()
      }
    val table: Table = TestTable.create(current, spec).load()
    val request = ScanRequest(
      table,
      null,
      projection,
      snapshot,
      () => java.util.Map.of(Int.box(0), spec(snapshot)),
      filter,
      caseSensitive,
      ignoreResiduals = false,
      returnsColumnStats = false,
      null
    )
    BoundScan.of(request).map(_.schema.asStruct())
  }

  private val a3 = Expressions.equal("a", 3)
  private val base = schema((2, "a", int), (3, "b", int))

  private case class Case(name: String, projection: Schema, snapshot: Schema, current: Schema, bound: Option[String])

  private val cases = Seq(
    Case("one schema", base, base, base, Some("snapshot")),
    Case("time travel after a rename", base, base, schema((2, "z", int), (3, "b", int)), Some("snapshot")),
    Case(
      "branch read after a rename",
      schema((2, "a", int), (3, "b", int)),
      schema((2, "z", int), (3, "b", int)),
      base,
      Some("current")),
    Case("branch read after swapped names", base, schema((3, "a", int), (2, "b", int)), base, Some("current")),
    Case(
      "neither schema has the column asked for",
      base,
      schema((2, "b", int), (3, "a", int)),
      schema((2, "b", int), (3, "a", int)),
      None),
    Case("column dropped and added again", base, schema((3, "b", int)), schema((3, "b", int), (4, "a", int)), None)
  )

  for (c <- cases)
    test(s"${c.name}: ${c.bound.fold("Iceberg plans")(s => s"bound to the $s's schema")}") {
      val bound = bind(c.projection, c.snapshot, c.current, a3)
      c.bound match {
        case None             => assert(bound == Left(StockReason.SchemaMismatch))
        case Some("snapshot") => assert(bound == Right(c.snapshot.asStruct()))
        case Some(_)          => assert(bound == Right(c.current.asStruct()))
      }
    }

  test("names without regard to case, when the scan says so") {
    val upper = Expressions.equal("A", 3)
    assert(bind(base, base, base, upper, caseSensitive = false).isRight)
    assert(bind(base, base, base, upper) == Left(StockReason.SchemaMismatch))
  }

  test("a path in a variant has the type of its values (S174)") {
    val variants = new Schema(optional(1, "v", Types.VariantType.get))
    def has(schema: Schema, valueType: ColumnType): Boolean = {
      val path = VariantPath("4.1.3-java17", "$.a", LongType)
      BoundScan.has(schema, ColumnRef(1, valueType, "v", Some(path.key)))
    }
    assert(has(variants, LongType))
    assert(!has(variants, StringType))
    assert(!has(new Schema(optional(1, "v", long)), LongType))
    assert(!BoundScan.has(variants, ColumnRef(1, LongType, "v")))
  }

  test("a promoted partition source that is read: the specs must be bound to its type") {
    val promoted = schema((2, "a", long), (3, "b", int))
    assert(bind(promoted, base, promoted, Expressions.alwaysTrue(), partitionBy = "a") == Right(promoted.asStruct()))
    assert(bind(base, base, promoted, Expressions.alwaysTrue(), partitionBy = "a") == Right(base.asStruct()))
    val notRead = schema((3, "b", int))
    assert(bind(notRead, base, promoted, Expressions.alwaysTrue(), partitionBy = "a") == Right(base.asStruct()))
  }
}
