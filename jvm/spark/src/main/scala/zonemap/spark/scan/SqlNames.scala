// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

import zonemap.iceberg.report.SqlText

/** The names of tables as SQL statements write them, with backquotes around parts that need them. */
private[zonemap] object SqlNames {

  /**
   * The name of the table of a relation.
   *
   * @param table the name without quotes that the table has in its catalog
   */
  def of(relation: DataSourceV2Relation, table: String): String = {
    val parts =
      for (catalog <- relation.catalog; id <- relation.identifier)
        yield catalog.name() +: id.namespace().toSeq :+ id.name()
    // the identifier of a branch or a tag has one part more
    parts.filter(_.mkString(".") == table).fold(of(table))(SqlText.name)
  }

  /** The name of a table of which only the name without quotes is known; a dot in a part of it is lost. */
  def of(table: String): String = SqlText.name(if (table.contains('/')) Seq(table) else table.split('.').toSeq)
}
