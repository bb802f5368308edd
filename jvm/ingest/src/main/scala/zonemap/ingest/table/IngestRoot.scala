// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import java.util.UUID

import org.apache.iceberg.Table
import org.apache.iceberg.io.FileIO

import zonemap.iceberg.store.StoreLocation
import zonemap.ingest.store.IngestFiles

/**
 * The folder that holds the queue, the state and the quarantine of one table.
 *
 * @param location the folder of the table, absolute, without a trailing slash
 */
private[zonemap] final case class IngestRoot(location: String, tableUuid: UUID) {

  /** The files of the root; local files directly, others through the `FileIO` of the table. */
  def files(io: FileIO): IngestFiles = IngestFiles.of(io, location)
}

private[zonemap] object IngestRoot {

  /** The key that names another root than the default. */
  val Conf = "spark.sql.zonemap.ingest.root"

  /** The property of a table that names its root for all writers and committers. */
  val Property = "zonemap.ingest.root"

  /** The name of the folder beside each table, or in each table's folder. */
  val DefaultName = "_zonemap_ingest"

  /** A folder in a table's folder, with a name that makes a removal of orphan files pass over it. */
  private val Hidden = "_[A-Za-z0-9._-]+".r

  /**
   * The root of a table: the configured one, or the one that the property of the table names, or one below a sibling of
   * the table's folder. A name that begins with `_` is a folder in the table's folder.
   *
   * @throws IllegalArgumentException if the root is not absolute or lies elsewhere in a folder of the table, or if the
   *   property names another one than the configuration
   */
  def of(table: Table, configured: Option[String]): IngestRoot = {
    val chosen = configured.filter(_.nonEmpty).map(base(table, _))
    val named = property(table).map(base(table, _))
    for (one <- chosen; other <- named if one != other)
      refuse(
        table,
        one,
        s"the table property $Property is '${property(table).get}', and all writers and committers of " +
          s"the table use that one. Remove $Conf, or change the property"
      )
    val found = chosen.orElse(named).getOrElse(besideFolder(table.location()))
    IngestRoot(s"$found/${table.uuid()}", table.uuid())
  }

  /** Whether neither the configuration nor the property of the table names a root. */
  def isDefault(table: Table, configured: Option[String]): Boolean =
    configured.forall(_.isEmpty) && property(table).isEmpty

  /** The root of a table beside that folder, and the one in it. */
  def standard(tableFolder: String, tableUuid: UUID): Seq[String] =
    Seq(besideFolder(tableFolder), below(tableFolder, DefaultName)).map(base => s"$base/$tableUuid")

  /** The value of the table property that names the root at that location. */
  def setting(table: Table, location: String): String = {
    val base = location.substring(0, location.lastIndexOf('/'))
    if (base == below(table.location(), DefaultName)) DefaultName else base
  }

  private def property(table: Table): Option[String] =
    Option(table.properties().get(Property)).map(_.trim).filter(_.nonEmpty)

  private def base(table: Table, text: String): String = {
    val root = text.stripSuffix("/")
    if (Hidden.matches(root)) below(table.location(), root)
    else if (!StoreLocation.isAbsolute(root))
      refuse(
        table,
        root,
        "it is not absolute. Give the whole path, or a name that begins with '_', such as " +
          s"'$DefaultName', for a folder in the table's folder, by $Conf or the table property $Property"
      )
    else if (StoreLocation.isInside(root, table.location().stripSuffix("/")))
      refuse(
        table,
        root,
        s"it lies in the table's folder '${table.location()}'. Name another folder by $Conf or the " +
          s"table property $Property, or '$DefaultName' for a folder in the table's folder"
      )
    else root
  }

  private def refuse(table: Table, base: String, why: String): Nothing =
    throw new IllegalArgumentException(s"Cannot keep the ingest queue of '${table.name()}' in '$base': $why.")

  private def below(tableFolder: String, name: String): String = s"${tableFolder.stripSuffix("/")}/$name"

  private def besideFolder(tableFolder: String): String = {
    val location = tableFolder.stripSuffix("/")
    s"${location.substring(0, location.lastIndexOf('/') + 1)}$DefaultName"
  }
}
