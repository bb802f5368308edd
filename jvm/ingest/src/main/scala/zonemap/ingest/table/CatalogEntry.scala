// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import java.net.URI
import java.util.Locale

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.iceberg.TableOperations

import zonemap.core.io.Checksums

/**
 * The entry of a catalog that a table was loaded from, as far as all clients of the entry agree on it. Two entries may
 * name one table: `register_table` copies the UUID and the location.
 *
 * @param name namespace and name without the name of the catalog, which each client chooses; in lower case
 * @param catalog a digest of what identifies the catalog; `None` if the client does not know it
 */
private[zonemap] final case class CatalogEntry(name: String, catalog: Option[String]) {

  /** Whether both may be the same entry: nothing that is known of both differs. */
  def fits(other: CatalogEntry): Boolean =
    name == other.name && (catalog.isEmpty || other.catalog.isEmpty || catalog == other.catalog)

  /** For people. */
  def text: String = catalog.fold(s"'$name'")(digest => s"'$name' (catalog $digest)")
}

private[zonemap] object CatalogEntry {

  /** A table of a folder: whoever opens the folder opens the same entry. */
  val OfFolder = "a folder"

  private val Folder = "HadoopTableOperations"
  private val Jdbc = "JdbcTableOperations"
  private val Hive = "HiveTableOperations"
  private val DigestBytes = 8
  private val Scheme = "^[a-zA-Z][a-zA-Z0-9+.-]*:".r

  /** Properties of all catalogs that say which catalog it is. */
  private val Keys = Seq("uri", "ref", "glue.id", "glue.account-id")

  /** A REST service may have several catalogs. In other catalogs, the warehouse is a default that clients choose. */
  private val Warehouse = "warehouse"
  private val Rest = "RESTTableOperations"

  /** @param fullName the table's name with that of its catalog */
  def of(fullName: String, operations: TableOperations): CatalogEntry = {
    val kind = operations.getClass.getSimpleName
    if (kind == Folder || isLocation(fullName, operations)) CatalogEntry(OfFolder, None)
    else {
      val (catalogName, name) = parts(fullName)
      CatalogEntry(name.toLowerCase(Locale.ROOT), catalogOf(kind, catalogName, propertiesOf(operations)).map(digest))
    }
  }

  /** A table that is opened by its folder has it as its name. */
  private def isLocation(fullName: String, operations: TableOperations): Boolean =
    fullName.contains('/') &&
      Option(operations.current()).exists(table => withoutScheme(table.location()) == withoutScheme(fullName))

  private def withoutScheme(location: String): String =
    Scheme.replaceFirstIn(location, "").dropWhile(_ == '/').stripSuffix("/")

  /** Iceberg writes `catalog.namespace.name`, or `uri/namespace.name` if the catalog's name looks like a URI. */
  private def parts(fullName: String): (String, String) = {
    val slash = fullName.lastIndexOf('/')
    val end = if (slash >= 0) slash else fullName.indexOf('.')
    (fullName.substring(0, math.max(end, 0)), fullName.substring(end + 1))
  }

  /** Catalogs give their properties to the `FileIO`; not every one has them. */
  private def propertiesOf(operations: TableOperations): Map[String, String] =
    Try(operations.io().properties().asScala.toMap).getOrElse(Map.empty)

  /** Of a Hive catalog without a URI, only the configuration of Hadoop may name the service. */
  private def catalogOf(kind: String, catalogName: String, properties: Map[String, String]): Option[String] = {
    val known = (if (kind == Rest) Keys :+ Warehouse else Keys).flatMap(key => properties.get(key).map(key -> _))
    val shown = known.map { case (key, value) => s"$key=${if (key == "uri") withoutSecrets(value) else value}" }
    // The rows of a JDBC catalog have its name.
    val all = if (kind == Jdbc) shown :+ s"name=$catalogName" else shown
    if (known.isEmpty && kind == Hive) None else Some(if (known.isEmpty) s"kind=$kind" else all.mkString("\n"))
  }

  /** Clients may give the user and the options of a connection in different ways. */
  private def withoutSecrets(uri: String): String = {
    val plain = uri.takeWhile(c => c != '?' && c != ';').stripSuffix("/")
    val user = Try(Option(new URI(plain.stripPrefix("jdbc:")).getRawUserInfo)).toOption.flatten
    user.fold(plain)(info => plain.replace(s"$info@", ""))
  }

  private def digest(text: String): String = Checksums.sha256(text, DigestBytes)
}
