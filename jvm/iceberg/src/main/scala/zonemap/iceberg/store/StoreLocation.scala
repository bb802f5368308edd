// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import org.apache.iceberg.{Table, TableProperties}

/** Decides which folders may contain the indexes of tables. */
private[zonemap] object StoreLocation {

  /**
   * Whether a location names the same folder for every reader: it has a scheme or begins with a slash, and contains no
   * part `.` or `..`.
   */
  def isAbsolute(location: String): Boolean =
    location.matches("([a-zA-Z][a-zA-Z0-9+.-]*:)?/.*") && !parts(location).exists(part => part == "." || part == "..")

  /**
   * The reason why the index of `table` must not be under `location`, if there is one. The folders of a table's data
   * and metadata are refused for two reasons: engines delete unknown files from them, and every user with write access
   * to data could change the files from which queries are planned.
   */
  def refusal(table: Table, location: String): Option[String] = {
    def refused(why: String) = Some(
      s"Cannot keep the index of '${table.name()}' in '$location': $why. Name another folder by " +
        "spark.sql.zonemap.store.location.")
    if (!isAbsolute(location)) refused("it is not absolute")
    else
      ownFolders(table).find { case (_, folder) => isInside(location, folder) }.flatMap { case (name, folder) =>
        refused(s"it lies in the table's own $name folder '$folder'")
      }
  }

  private def ownFolders(table: Table): Seq[(String, String)] = {
    def property(key: String) = Option(table.properties().get(key))
    def named(name: String, keys: String*) = keys.flatMap(property).map(name -> _)
    Seq("data" -> s"${table.location()}/data", "metadata" -> s"${table.location()}/metadata") ++
      named("data", TableProperties.WRITE_DATA_LOCATION, "write.object-storage.path", "write.folder-storage.path") ++
      named("metadata", TableProperties.WRITE_METADATA_LOCATION)
  }

  /** Whether a location is a folder or lies in it, in whatever form of scheme, authority and slashes. */
  def isInside(location: String, folder: String): Boolean = {
    val (authority, ofFolder) = (authorityOf(location), authorityOf(folder))
    parts(location).startsWith(parts(folder)) &&
    (authority == ofFolder || authority.isEmpty || ofFolder.isEmpty)
  }

  /** The parts of the path, without scheme and authority. */
  private def parts(location: String): Seq[String] =
    IndexStore.withoutScheme(location).split('/').filter(_.nonEmpty).toSeq

  private def authorityOf(location: String): String = {
    val scheme = "^[a-zA-Z][a-zA-Z0-9+.-]*://".r
    scheme.findFirstIn(location).fold("")(prefix => location.substring(prefix.length).takeWhile(_ != '/'))
  }
}
