// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.evidence

import java.util.Locale

import org.apache.iceberg.{FileFormat, Schema}
import org.apache.iceberg.io.InputFile
import org.apache.iceberg.mapping.NameMapping

import zonemap.core.value.{ColumnType, Presence, ZoneValue}
import zonemap.iceberg.convert.FieldPaths

/**
 * The statistics of one column in a footer.
 *
 * @param least the least value that is not null; null if all values are null
 * @param greatest the greatest value that is not null; null if all values are null
 * @param nans whether values are NaN; floats and doubles may be neither `least` nor `greatest` and still be NaN
 */
private[evidence] final case class FooterColumn(
    nulls: Long,
    values: Long,
    least: ZoneValue,
    greatest: ZoneValue,
    nans: Presence)

private[evidence] object FooterColumn {

  /** The statistics of parts of a file together; `None` if one of them lacks its own. */
  def together(parts: Seq[Option[FooterColumn]]): Option[FooterColumn] =
    Option.when(parts.forall(_.isDefined))(parts.flatten.foldLeft(FooterColumn(0, 0, null, null, Presence.None)) {
      (all, part) =>
        FooterColumn(
          all.nulls + part.nulls,
          all.values + part.values,
          first(all.least, part.least)(_ <= _),
          first(all.greatest, part.greatest)(_ >= _),
          Presence.None)
    })

  private def first(a: ZoneValue, b: ZoneValue)(isFirst: (ZoneValue, ZoneValue) => Boolean): ZoneValue =
    if (a == null || (b != null && isFirst(b, a))) b else a
}

/**
 * What the footer of a data file states about its rows.
 *
 * @param columns by field id, the columns of which every part of the file has statistics
 * @param hasIds whether readers find the file's columns by field ids; else by the names of the table's mapping
 * @param statesExtremes whether the library that wrote the file computes least and greatest values of fixed width from
 *   the values
 */
private[evidence] final case class FileFooter(
    records: Long,
    columns: Map[Int, FooterColumn],
    hasIds: Boolean,
    statesExtremes: Boolean)

private[evidence] object FileFooter {

  /**
   * Reads the footer of a Parquet or ORC file. The result is `None` if readers may find columns by position, because
   * the file has no field ids and the table no name mapping, and if only some fields have ids: Iceberg's readers in
   * Java then use the ids, and those in Python the names.
   *
   * @param format the name of the file format in the manifest
   * @param wanted the columns, by field id, in the types of their stored bounds
   */
  def read(
      file: InputFile,
      format: String,
      schema: Schema,
      mapping: Option[NameMapping],
      wanted: Map[Int, ColumnType]): Option[FileFooter] =
    if (format.toUpperCase(Locale.ROOT) == FileFormat.ORC.name()) OrcFooter.read(file, schema, mapping, wanted)
    else ParquetFooter.read(file, schema, mapping, wanted)

  /** The statistics of the columns that readers find at the place where the table's schema has them. */
  def columns[T](schema: Schema, wanted: Map[Int, ColumnType], stored: Seq[StoredColumn[T]])(
      statistics: (StoredColumn[T], ColumnType) => Option[FooterColumn]): Map[Int, FooterColumn] = {
    val paths = new FieldPaths(schema)
    for {
      (id, columnType) <- wanted
      Seq(column) <- Seq(stored.filter(_.ids.last == id))
      if column.ids == paths.of(id)
      found <- statistics(column, columnType)
    } yield id -> found
  }
}

/** A column of a file that has one value a row: the field ids from the root to it, its place in the file, its type. */
private[evidence] final case class StoredColumn[T](ids: Seq[Int], place: Int, stored: T)
