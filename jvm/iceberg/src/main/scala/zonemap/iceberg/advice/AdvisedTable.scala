package zonemap.iceberg.advice

import org.apache.iceberg.{BaseTable, Snapshot}

import zonemap.core.predicate.ColumnRef

/**
 * The table that advice is for, and the notation of its names in statements.
 *
 * @param name the table as the caller named it
 * @param catalog its catalog
 * @param identifier its name within the catalog
 */
private[zonemap] final case class AdvisedTable(
    table: BaseTable,
    snapshot: Snapshot,
    name: String,
    catalog: String,
    identifier: String) {
  import AdvisedTable._

  /** The statement that builds a fact, or that changes the columns of the index. */
  def build(arguments: String): String = s"CALL zonemap.system.build(table => ${literal(name)}, $arguments)"

  /** Sorts all files into files of the present average size, so that the number of files stays about the same. */
  def rewrite(column: ColumnRef, live: Size): String = {
    val size = Math.max(1L, live.bytes / Math.max(1L, live.files))
    s"CALL $catalog.system.rewrite_data_files(table => ${literal(identifier)}, strategy => 'sort', sort_order => " +
      s"${literal(quoted(column.name))}, options => map('rewrite-all', 'true', 'target-file-size-bytes', '$size'))"
  }

  def setProperties(properties: Seq[(String, String)]): String =
    properties
      .map { case (key, value) => s"${literal(key)} = ${literal(value)}" }
      .mkString(s"ALTER TABLE $name SET TBLPROPERTIES (", ", ", ")")

  def refuse(why: String, what: String): Nothing =
    throw new IllegalArgumentException(s"Cannot ${AdvisedTable.Verb} '$name': $why. $what.")
}

private[zonemap] object AdvisedTable {
  val Verb = "advise on"

  /** A text as a literal of SQL. */
  def literal(text: String): String = "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

  /** A column in a sort order or in the notation of facts; backquotes keep special characters together. */
  def quoted(column: String): String =
    if (column.matches("[A-Za-z_][A-Za-z0-9_]*") || column.contains("[")) column
    else column.split('.').map(part => if (part.matches("\\w+")) part else s"`$part`").mkString(".")
}
