package zonemap.insight.layout

import zonemap.core.predicate.ColumnRef
import zonemap.iceberg.report.SqlText

/**
 * An order in which `rewrite_data_files` can write the rows of a table.
 *
 * @param columns the columns that a sort compares one after the other, or that a Z-order interleaves
 */
private[zonemap] final case class FileOrder(columns: Seq[ColumnRef], isZOrder: Boolean = false) {

  /** The order in the notation of `rewrite_data_files`. */
  def sortOrder: String = inZOrder(columns.map(column => SqlText.sortKey(column.name)).mkString(", "))

  /** The order in messages and as the subject of advice. */
  def name: String = inZOrder(columns.map(_.name).mkString(", "))

  private def inZOrder(columns: String): String = if (isZOrder) s"zorder($columns)" else columns
}

private[zonemap] object FileOrder {

  /** Whether Iceberg can use a column in a Z-order: a column of the table, not a field, of a type with ordered bytes. */
  def hasZOrder(column: ColumnRef): Boolean =
    !column.name.exists(c => c == '.' || c == '`') && ZOrderBits.supports(column.columnType)
}
