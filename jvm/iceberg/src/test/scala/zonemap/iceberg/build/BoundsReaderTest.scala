// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.build

import org.apache.iceberg.{FileFormat, Schema}
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.optional
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.column.ColumnBounds
import zonemap.core.value.{Presence, ZoneValue, ZoneValues}
import zonemap.iceberg.testing.{Stats, TestFiles, TestTable}

/** Decodes the statistics of one column of a manifest entry. */
class BoundsReaderTest extends AnyFunSuite {
  private val schema = new Schema(
    optional(1, "i", Types.IntegerType.get()),
    optional(2, "l", Types.LongType.get()),
    optional(3, "d", Types.DoubleType.get()),
    optional(4, "s", Types.StringType.get()),
    optional(
      5,
      "st",
      Types.StructType.of(optional(6, "a", Types.IntegerType.get()), optional(10, "f", Types.DoubleType.get()))),
    optional(7, "list", Types.ListType.ofOptional(8, Types.IntegerType.get())),
    optional(9, "dec", Types.DecimalType.of(30, 2))
  )

  private val table = TestTable.create(schema)
  private val columns = IndexedColumns.of(Seq(table.schema))

  private def read(column: String, stats: Stats, format: FileFormat): ColumnBounds = {
    val file = TestFiles.data(table, Map(column -> stats), format = format)
    val at = columns.fieldIds.indexOf(table.schema.findField(column).fieldId())
    new BoundsReader(columns).read(file)(at)
  }

  private def n(value: Long): ZoneValue = ZoneValues.ofLong(value)
  private def t(value: String): ZoneValue = ZoneValues.ofString(value)
  private def d(value: Double): ZoneValue = ZoneValues.ofDouble(value)

  import Presence.{All, Unknown}
  private val (no, some) = (Presence.None, Presence.Some)
  private val (parquet, orc) = (FileFormat.PARQUET, FileFormat.ORC)
  private val int4: Array[Byte] = Array(5, 0, 0, 0)

  // case, column, format, statistics in the manifest, decoded bounds (null: none)
  private val cases: Seq[(String, String, FileFormat, Stats, ColumnBounds)] = Seq(
    ("nothing", "i", parquet, Stats(), null),
    ("a value count alone", "i", parquet, Stats(values = Some(10)), null),
    ("bounds and counts", "i", parquet, Stats.range(1, 5), ColumnBounds(n(1), n(5), tight = true, no, no)),
    (
      "bounds of an int of ORC are not tight",
      "i",
      orc,
      Stats.range(1, 5),
      ColumnBounds(n(1), n(5), tight = false, no, no)),
    ("equal bounds of ORC are tight", "i", orc, Stats.range(5, 5), ColumnBounds(n(5), n(5), tight = true, no, no)),
    ("a lower bound alone", "i", parquet, Stats(lower = Some(1)), ColumnBounds(n(1), null, tight = false, Unknown, no)),
    (
      "an upper bound alone",
      "i",
      parquet,
      Stats(upper = Some(1)),
      ColumnBounds(null, n(1), tight = false, Unknown, no)),
    (
      "texts may be truncated",
      "s",
      parquet,
      Stats.range("a", "b"),
      ColumnBounds(t("a"), t("b"), tight = false, no, no)),
    (
      "equal texts leave room for one value",
      "s",
      parquet,
      Stats.range("a", "a"),
      ColumnBounds(t("a"), t("a"), tight = true, no, no)),
    (
      "an int bound under a promoted column",
      "l",
      parquet,
      Stats(lower = Some(int4), upper = Some(int4)),
      ColumnBounds(n(5), n(5), tight = true, Unknown, no)),
    ("all null", "i", parquet, Stats(Some(10), Some(10)), ColumnBounds(null, null, tight = false, All, no)),
    ("some null", "i", parquet, Stats(Some(10), Some(3)), ColumnBounds(null, null, tight = false, some, no)),
    (
      "no null of unknown many values",
      "i",
      parquet,
      Stats(nulls = Some(0)),
      ColumnBounds(null, null, tight = false, no, no)),
    (
      "some null of unknown many values",
      "i",
      parquet,
      Stats(nulls = Some(3)),
      ColumnBounds(null, null, tight = false, some, no)),
    ("more nulls than values", "i", parquet, Stats(Some(2), Some(3)), null),
    (
      "a double without a NaN count",
      "d",
      parquet,
      Stats(Some(10), Some(0), None, Some(1d), Some(2d)),
      ColumnBounds(d(1), d(2), tight = true, no, Unknown)),
    (
      "a double without NaN",
      "d",
      parquet,
      Stats(Some(10), Some(0), Some(0), Some(1d), Some(2d)),
      ColumnBounds(d(1), d(2), tight = true, no, no)),
    ("NaN alone", "d", parquet, Stats(Some(10), Some(0), Some(10)), ColumnBounds(null, null, tight = false, no, All)),
    (
      "some NaN and nothing else known",
      "d",
      parquet,
      Stats(nans = Some(3)),
      ColumnBounds(null, null, tight = false, Unknown, some)),
    ("no NaN and nothing else known is not worth a thing", "d", parquet, Stats(nans = Some(0)), null),
    (
      "NaN as a bound",
      "d",
      parquet,
      Stats(lower = Some(Double.NaN), upper = Some(2d)),
      ColumnBounds(null, d(2), tight = false, Unknown, Unknown)),
    (
      "negative zero",
      "d",
      parquet,
      Stats(Some(1), Some(0), Some(0), Some(-0.0), Some(-0.0)),
      ColumnBounds(d(0), d(0), tight = true, no, no)),
    ("inverted bounds are passed on", "i", parquet, Stats.range(5, 1), ColumnBounds(n(5), n(1), tight = true, no, no)),
    ("a struct's leaf of Parquet", "st.a", parquet, Stats.range(1, 5), ColumnBounds(n(1), n(5), tight = true, no, no)),
    (
      "a struct's leaf of ORC: null count unknown",
      "st.a",
      orc,
      Stats.range(1, 5),
      ColumnBounds(n(1), n(5), tight = false, Unknown, no)),
    (
      "a struct's leaf of doubles: the counts leave out null structs",
      "st.f",
      parquet,
      Stats(Some(10), Some(0), Some(10)),
      ColumnBounds(null, null, tight = false, Unknown, some))
  )

  for ((name, column, format, stats, expected) <- cases)
    test(s"$name ($column, $format)")(assert(read(column, stats, format) == expected))

  test("a bound of a wrong length is unknown") {
    for ((column, bytes) <- Seq("i" -> 3, "l" -> 5, "d" -> 2, "dec" -> 0))
      assert(read(column, Stats(lower = Some(new Array[Byte](bytes)), nulls = Some(0)), parquet).lower == null, column)
  }

  test("list elements and map entries are not indexed, struct leaves are") {
    def ids(names: String*) = names.map(table.schema.findField(_).fieldId()).toSet
    assert(columns.fieldIds.toSet == ids("i", "l", "d", "s", "st.a", "st.f", "dec"))
    assert(columns.nested == ids("st.a", "st.f"))
  }
}
