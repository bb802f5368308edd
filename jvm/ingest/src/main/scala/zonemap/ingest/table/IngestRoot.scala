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

  private val DefaultName = "_zonemap_ingest"

  /**
   * The root of a table: below the configured location or, without one, below a sibling of the table's folder, so that
   * no engine finds its files when it removes orphan files of the table.
   *
   * @throws IllegalArgumentException if the location is not absolute or lies in a folder of the table
   */
  def of(table: Table, configured: Option[String]): IngestRoot = {
    val base = configured.filter(_.nonEmpty).getOrElse(defaultBase(table.location())).stripSuffix("/")
    refusal(table, base).foreach { why =>
      throw new IllegalArgumentException(
        s"Cannot keep the ingest queue of '${table.name()}' in '$base': $why. Name another folder by $Conf.")
    }
    IngestRoot(s"$base/${table.uuid()}", table.uuid())
  }

  /** The default root of a table in that folder. */
  def beside(tableFolder: String, tableUuid: UUID): String = s"${defaultBase(tableFolder)}/$tableUuid"

  private def defaultBase(tableFolder: String): String = {
    val location = tableFolder.stripSuffix("/")
    s"${location.substring(0, location.lastIndexOf('/') + 1)}$DefaultName"
  }

  private def refusal(table: Table, base: String): Option[String] = {
    val location = table.location().stripSuffix("/")
    if (!StoreLocation.isAbsolute(base)) Some("it is not absolute")
    else if (StoreLocation.isInside(base, location)) Some(s"it lies in the table's folder '$location'")
    else None
  }
}
