// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.build

import java.lang.{Long => JLong}
import java.nio.ByteBuffer
import java.util.{Map => JMap}

import org.apache.iceberg.{ContentFile, FileFormat}

import zonemap.core.column.{ColumnBounds, ColumnSpec}
import zonemap.core.value.{ColumnType, Encoding, Presence, ZoneValue}
import zonemap.iceberg.convert.IcebergValues

/**
 * Decodes the bounds and counts of one manifest entry as [[ColumnBounds]].
 *
 * A bound or count that the manifest lacks is unknown. A bound is tight (the least or greatest value of the rows) for
 * fixed-width values in Parquet files. It is also tight for any type when lower and upper are equal, because valid
 * bounds that are equal allow only one value.
 */
private[zonemap] final class BoundsReader(columns: IndexedColumns) {
  private val specs: Array[ColumnSpec] = columns.specs.toArray

  /** The bounds of every indexed column of `file`; `null` for a column without any bounds or counts in the manifest. */
  def read(file: ContentFile[_]): Array[ColumnBounds] = {
    val bounds = new Array[ColumnBounds](specs.length)
    var i = 0
    while (i < specs.length) {
      bounds(i) = read(file, specs(i))
      i += 1
    }
    bounds
  }

  private def read(file: ContentFile[_], spec: ColumnSpec): ColumnBounds = {
    val id = Integer.valueOf(spec.fieldId)
    val lower = bound(file.lowerBounds(), id, spec.columnType)
    val upper = bound(file.upperBounds(), id, spec.columnType)
    val nulls = nullPresence(file, id, spec.columnType)
    val nans = nanPresence(file, id, spec.columnType)
    if (lower == null && upper == null && nulls == Presence.Unknown && nans != Presence.Some && nans != Presence.All)
      null
    else ColumnBounds(lower, upper, isTight(file, spec.columnType, lower, upper), nulls, nans)
  }

  private def bound(bounds: JMap[Integer, ByteBuffer], id: Integer, columnType: ColumnType): ZoneValue =
    if (bounds == null) null
    else {
      val bound = bounds.get(id)
      if (bound == null) null else IcebergValues.decodeBound(columnType, bound).orNull
    }

  private def isTight(file: ContentFile[_], columnType: ColumnType, lower: ZoneValue, upper: ZoneValue): Boolean =
    lower != null && upper != null &&
      ((file.format() == FileFormat.PARQUET && columnType.encoding == Encoding.Longs) || lower == upper)

  /**
   * A field of a struct is null where the struct is null, but only the counts in Parquet footers include these rows.
   * The counts of other formats exclude them. Parquet's counts of floats and doubles exclude them too, because the
   * writer counts these columns itself on account of NaN. The result is then unknown.
   */
  private def nullPresence(file: ContentFile[_], id: Integer, columnType: ColumnType): Presence =
    if (columns.nested(id) && (file.format() != FileFormat.PARQUET || columnType.mayHoldNaN)) Presence.Unknown
    else Presence.ofCounts(count(file.nullValueCounts(), id), count(file.valueCounts(), id))

  /**
   * The counts of a field of a struct exclude rows whose struct is null, which are not NaN. The counts therefore
   * prove only for top-level columns that all values are NaN.
   */
  private def nanPresence(file: ContentFile[_], id: Integer, columnType: ColumnType): Presence =
    if (!columnType.mayHoldNaN) Presence.None
    else
      Presence.ofCounts(count(file.nanValueCounts(), id), count(file.valueCounts(), id)) match {
        case Presence.All if columns.nested(id) => Presence.Some
        case known                              => known
      }

  private def count(counts: JMap[Integer, JLong], id: Integer): Long =
    if (counts == null) BoundsReader.UnknownCount
    else {
      val count = counts.get(id)
      if (count == null) BoundsReader.UnknownCount else count.longValue
    }
}

private object BoundsReader {
  private val UnknownCount = -1L
}
