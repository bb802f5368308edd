package zonemap.iceberg.build

import java.lang.{Long => JLong}
import java.nio.ByteBuffer
import java.util.{Map => JMap}

import org.apache.iceberg.{ContentFile, FileFormat}

import zonemap.core.segment.{ColumnBounds, ColumnSpec}
import zonemap.core.value.{ColumnType, Encoding, Presence, ZoneValue}
import zonemap.iceberg.convert.IcebergValues

/**
 * The bounds and counts of one manifest entry as [[ColumnBounds]].
 *
 * What a manifest does not say stays unknown. A bound is tight (the true extreme of the rows) for fixed-width values
 * that Parquet wrote, and for any type when lower and upper are equal: valid bounds that meet leave room for one
 * value only.
 */
private[zonemap] final class BoundsReader(columns: IndexedColumns) {
  private val specs: Array[ColumnSpec] = columns.specs.toArray

  /** The bounds of every indexed column of `file`, `null` where the manifest knows nothing of a column. */
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
   * A struct's leaf is null where its struct is, but only the counts of Parquet's footers include those rows; the
   * counts of other formats, and Parquet's own for floats (which writers count for NaN), leave them out: unknown.
   */
  private def nullPresence(file: ContentFile[_], id: Integer, columnType: ColumnType): Presence =
    if (columns.nested(id) && (file.format() != FileFormat.PARQUET || columnType.mayHoldNaN)) Presence.Unknown
    else Presence.ofCounts(count(file.nullValueCounts(), id), count(file.valueCounts(), id))

  /** The values a leaf's count leaves out where its struct is null are not NaN: "all" is known of top-level columns only. */
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
