// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.procedure

import scala.util.control.NonFatal

import org.apache.iceberg.Table
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.{StringType, StructType}

import zonemap.spark.table.{IcebergNamespaces, IcebergTables}

/** Runs a procedure for its table, or for each Iceberg table of its namespace, in the order of their names. */
private[procedure] final class EachTable(spark: SparkSession, verb: String) {

  /**
   * The rows of all tables, each with the columns of [[EachTable.columns]] at the end. With a namespace, an error of a table is a
   * row, so that the other tables are indexed; with a table, it is thrown.
   *
   * @param failed the values of the row of an error
   * @param run returns the rows of a table, given with its name
   */
  def rows(arguments: Arguments, failed: Seq[Any])(run: (String, Table) => Seq[Seq[Any]]): Seq[Seq[Any]] =
    (arguments.optionalText("table"), arguments.optionalText("namespace")) match {
      case (Some(name), None) => of(name, IcebergTables.load(spark, name, verb), run)
      case (None, Some(namespace)) =>
        IcebergNamespaces.tables(spark, namespace, verb).flatMap { listed =>
          try of(listed.name, listed.load(), run)
          catch { case NonFatal(e) => Seq(failed ++ Seq(listed.name, IcebergTables.messageOf(listed.name, verb, e))) }
        }
      case (Some(name), Some(namespace)) =>
        throw new IllegalArgumentException(
          s"Cannot $verb table '$name' and namespace '$namespace': a call is for one of them. Remove 'table' or 'namespace'.")
      case (None, None) =>
        throw new IllegalArgumentException(
          s"Cannot $verb a table: both 'table' and 'namespace' are NULL. Give table => 'catalog.namespace.table', or namespace => " +
            "'catalog.namespace' for each table in it.")
    }

  private def of(name: String, table: Table, run: (String, Table) => Seq[Seq[Any]]): Seq[Seq[Any]] = {
    IcebergTables.requireIndexable(table, name, verb)
    run(name, table).map(_ ++ Seq(name, ""))
  }
}

private[procedure] object EachTable {
  val Table: Parameter = Parameter(
    "table",
    StringType,
    Some("NULL"),
    "Identifier of the Iceberg table, such as 'lake.db.t'; NULL: each table of the namespace.")

  val Namespace: Parameter = Parameter(
    "namespace",
    StringType,
    Some("NULL"),
    "A namespace with its catalog, such as 'lake.db', instead of a table: each Iceberg table in it is indexed. The error of a " +
      "table is in its row, and does not stop the call."
  )

  def columns(first: StructType): StructType =
    first
      .add("table", StringType, nullable = false, "The table as named in the call; of a namespace, with its catalog.")
      .add(
        "problem",
        StringType,
        nullable = false,
        "The error of a table of a namespace that was not indexed; empty for all others.")
}
