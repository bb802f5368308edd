// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.commit

import java.util.{TreeMap => JTreeMap}
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import org.apache.hadoop.security.UserGroupInformation
import org.apache.iceberg.{CatalogProperties, CatalogUtil, Table}
import org.apache.iceberg.catalog.{Catalog, Namespace, TableIdentifier}
import org.apache.spark.SparkConf
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser

/**
 * The Iceberg catalogs that confs `spark.sql.catalog.<name>.*` describe, made as Iceberg's `SparkCatalog` makes them but
 * without a session. No catalog caches tables. Thread-safe.
 *
 * @param applicationId the id that the catalogs get in place of that of a Spark application
 */
private[commit] final class ConfiguredCatalogs(conf: SparkConf, applicationId: String) {
  import ConfiguredCatalogs._

  /** A catalog that cannot be made, such as one whose server is down, is made by a later call. */
  private val catalogs = new ConcurrentHashMap[String, Catalog]

  /**
   * Returns how the table is loaded; this call reads confs only.
   *
   * @param name the name in SQL, with that of the catalog
   * @throws IllegalArgumentException if the name has no catalog that the confs describe
   */
  def table(name: String): () => Table = {
    val parts = partsOf(name)
    if (parts.size < 2)
      refuse(name, "it has no name of a catalog. Write catalog.namespace.table.")
    val catalog = parts.head
    val key = s"$Prefix$catalog"
    conf.getOption(key) match {
      case Some(found) if Classes(found) => ()
      case Some(found) =>
        refuse(name, s"the class $found is not a catalog of Iceberg. Set $key=${IcebergCatalog}.")
      case None =>
        refuse(name, s"no conf describes the catalog. Give --conf $key=${IcebergCatalog} and its properties.")
    }
    val identifier = TableIdentifier.of(Namespace.of(parts.slice(1, parts.size - 1): _*), parts.last)
    () => catalogs.computeIfAbsent(catalog, load).loadTable(identifier)
  }

  private def load(name: String): Catalog = {
    val prefix = s"$Prefix$name."
    val properties = new JTreeMap[String, String](String.CASE_INSENSITIVE_ORDER)
    conf.getAllWithPrefix(prefix).foreach { case (key, value) => properties.put(key, value) }
    properties.put(CatalogProperties.APP_ID, applicationId)
    properties.put(CatalogProperties.USER, UserGroupInformation.getCurrentUser.getShortUserName)
    val hadoop = HadoopConf.of(conf)
    conf.getAllWithPrefix(s"${prefix}hadoop.").foreach { case (key, value) => hadoop.set(key, value) }
    CatalogUtil.buildIcebergCatalog(name, properties, hadoop)
  }
}

private object ConfiguredCatalogs {
  private val Prefix = "spark.sql.catalog."

  private val IcebergCatalog = "org.apache.iceberg.spark.SparkCatalog"

  /** The classes whose catalogs Iceberg makes from the properties alone. */
  private val Classes = Set(IcebergCatalog, "org.apache.iceberg.spark.SparkSessionCatalog")

  private def partsOf(name: String): Seq[String] =
    try CatalystSqlParser.parseMultipartIdentifier(name)
    catch { case NonFatal(_) => refuse(name, "it is not a name in SQL. Quote other names with backticks.") }

  private def refuse(name: String, why: String): Nothing =
    throw new IllegalArgumentException(s"Cannot commit to '$name': $why")
}
