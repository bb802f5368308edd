// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.table

import scala.util.Try

import org.apache.iceberg.Table
import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.TableCatalog

import zonemap.iceberg.store.TemporaryKeys

/**
 * Tables with their current metadata.
 *
 * Iceberg's catalogs cache tables. Another process may drop a table and create it again; the cached one then fails to
 * read its metadata, because the UUID has changed, and each attempt lets the cache keep it longer. A table that fails is
 * therefore removed from the cache and loaded again, once. So is a table with temporary keys: a cached one has those
 * with which it was loaded, and a refresh of its metadata brings no others.
 */
private[zonemap] object CurrentTable {

  /** @param name the name of the table in SQL */
  def load(spark: SparkSession, name: String): Table = of(spark, name, Spark3Util.loadIcebergTable(spark, name))

  /** @param loaded the table of that name that the catalog has loaded, perhaps from its cache */
  def of(spark: SparkSession, name: String, loaded: Table): Table =
    if (TemporaryKeys.areUsedBy(loaded.io()) || Try(loaded.refresh()).isFailure) {
      forget(spark, name)
      Spark3Util.loadIcebergTable(spark, name)
    } else loaded

  private def forget(spark: SparkSession, name: String): Unit = {
    val found = Spark3Util.catalogAndIdentifier(spark, name)
    found.catalog() match {
      case catalog: TableCatalog => catalog.invalidateTable(found.identifier())
      case _                     => ()
    }
  }
}
