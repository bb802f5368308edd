// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.table

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.Table
import org.apache.iceberg.catalog.{Namespace, TableIdentifier}
import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.util.quoteIfNeeded

import zonemap.spark.ErrorText

/** A table that a catalog lists; `load` returns it with its current metadata. */
private[zonemap] final case class ListedTable(name: String, load: () => Table)

/** Lists the Iceberg tables of a namespace. Errors name the namespace and a remedy. */
private[zonemap] object IcebergNamespaces {
  private val SessionCatalog = "spark_catalog"

  /**
   * The tables of a namespace by name, without the tables of nested namespaces. A name without a catalog is one of the
   * current catalog.
   *
   * @param verb the action of the caller, for the message of an error
   * @throws IllegalArgumentException if there is no such namespace, if it is a table, or if its catalog is not one of Iceberg
   */
  def tables(spark: SparkSession, name: String, verb: String): Seq[ListedTable] =
    try {
      val (catalogName, levels) = resolve(spark, CatalystSqlParser.parseMultipartIdentifier(name))
      val catalog = Spark3Util.loadIcebergCatalog(spark, catalogName)
      val listed = catalog.listTables(Namespace.of(levels: _*)).asScala.toSeq
      if (listed.isEmpty && levels.size > 1 && catalog.tableExists(TableIdentifier.of(levels: _*)))
        throw new IllegalArgumentException("it is a table, not a namespace")
      listed
        .map { id =>
          def load(): Table = {
            val table = catalog.loadTable(id)
            table.refresh()
            table
          }
          val parts = catalogName +: id.namespace().levels().toSeq :+ id.name()
          ListedTable(parts.map(quoteIfNeeded).mkString("."), () => load())
        }
        .sortBy(_.name)
    } catch {
      case NonFatal(e) =>
        throw IcebergTables.refused(
          s"Cannot $verb namespace '$name': ${ErrorText.firstLine(e)}. Name a namespace of an Iceberg catalog as " +
            "catalog.namespace.",
          e)
    }

  /** The catalog and the other parts of a name; a name without a catalog is one of the current catalog. */
  private[zonemap] def resolve(spark: SparkSession, parts: Seq[String]): (String, Seq[String]) =
    if (isCatalog(spark, parts.head)) (parts.head, parts.tail) else (spark.catalog.currentCatalog(), parts)

  private[zonemap] def isCatalog(spark: SparkSession, name: String): Boolean =
    name.equalsIgnoreCase(SessionCatalog) || spark.conf.getOption(s"spark.sql.catalog.$name").isDefined
}
