// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import org.apache.iceberg.{BaseTable, Snapshot}

import zonemap.core.predicate.ColumnRef
import zonemap.iceberg.report.SqlText

/**
 * The table that advice is for, and the statements about it.
 *
 * @param name the table as the caller named it
 * @param catalog its catalog
 * @param parts its namespace and its name
 */
private[zonemap] final case class AdvisedTable(
    table: BaseTable,
    snapshot: Snapshot,
    name: String,
    catalog: String,
    parts: Seq[String]) {

  /** The full name, as statements write it. */
  val sqlName: String = SqlText.name(catalog +: parts)

  /** Whether a scan reads this table, and the table still has the columns of the scan. */
  def isReadBy(scan: ObservedScan): Boolean =
    scan.tableUuid == table.operations().current().uuid() && scan.fits(table.schema())

  /** Rewrites all files, sorted by a column, into files of this size. */
  def rewrite(column: ColumnRef, fileBytes: Long): String =
    s"CALL ${SqlText.name(Seq(catalog))}.system.rewrite_data_files(table => ${SqlText.literal(sqlName)}, strategy => " +
      s"'sort', sort_order => ${SqlText.literal(SqlText.sortKey(column.name))}, options => map('rewrite-all', 'true', " +
      s"'target-file-size-bytes', '$fileBytes'))"

  def setProperties(properties: Seq[(String, String)]): String =
    properties
      .map { case (key, value) => s"${SqlText.property(key)} = ${SqlText.property(value)}" }
      .mkString(s"ALTER TABLE $sqlName SET TBLPROPERTIES (", ", ", ")")

  def refuse(why: String, what: String): Nothing =
    throw new IllegalArgumentException(s"Cannot ${AdvisedTable.Verb} '$name': $why. $what.")
}

private[zonemap] object AdvisedTable {
  val Verb = "advise on"
}
