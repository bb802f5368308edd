// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.answer

import org.apache.iceberg.types.Types
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.plan.{FewColumns, Planning}
import zonemap.iceberg.report.{StockReason, SwapReason}
import zonemap.iceberg.testing.Stats

/** Which rows of metadata tables the driver makes; MetadataTableRuleTest compares the rows with Iceberg's. */
class MetadataRowsTest extends AnyFunSuite with FewColumns {
  import Planning._

  test("values of single files are limited, rows without a value and rows of partitions are not") {
    val t = table((0 until 8).map(k => Map("id" -> Stats.range(k.toLong, k.toLong))): _*)
    build(t)
    val loaded = t.load()
    val index = relation(t, Covering).pinned.covered.get.index
    def rows(table: MetadataTable, columns: String*) =
      MetadataRows.of(index, loaded, MetadataQuestion(table, columns, None, (_, value) => value), most = 16)
    val files = MetadataTable.Files(hasData = true, hasDeletes = true)
    assert(rows(files).map(_.size) == Right(8))
    assert(rows(files, "file_path", "record_count").map(_.size) == Right(8))
    assert(rows(files, "file_path", "record_count", "content") == Left(SwapReason.MetadataTooLarge(8)))
    assert(rows(MetadataTable.Partitions, MetadataTable.Partitions.held.toSeq: _*).map(_.size) == Right(1))
  }

  test("a table whose partition fields have changed since the query was resolved is left to Iceberg") {
    val t = table(Map("id" -> Stats.range(1L, 2L)))
    build(t)
    val index = relation(t, Covering).pinned.covered.get.index
    val loaded = t.load()
    def rows(resolved: Types.StructType) = {
      val question =
        MetadataQuestion(MetadataTable.Partitions, Seq("record_count"), Some(resolved), (_, value) => value)
      MetadataRows.of(index, loaded, question)
    }
    assert(rows(Types.StructType.of()).isRight)
    val other = Types.StructType.of(Types.NestedField.optional(1000, "p", Types.IntegerType.get()))
    assert(rows(other) == Left(SwapReason.NoIndex(StockReason.SchemaMismatch)))
  }
}
