// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

/**
 * The level of a segment in the merge hierarchy; the folder of the segment's file is named after it.
 *
 * A merge raises data segments by one level: micro (one commit or a few), hour, day. The level decides which segments
 * are merged with each other; it does not change how a segment is read.
 */
private[zonemap] sealed abstract class Level(val name: String, val suffix: String)

private[zonemap] object Level {
  case object Micro extends Level("micro", "zm")
  case object Hour extends Level("hour", "zm")
  case object Day extends Level("day", "zm")
  case object Deletes extends Level("deletes", "zmd")

  /** The levels of data segments, from the highest to the lowest. */
  val ofData: Seq[Level] = Seq(Day, Hour, Micro)

  private val byName: Map[String, Level] = (Deletes +: ofData).map(level => level.name -> level).toMap

  /** The level in the name of a stored segment; a folder of another name counts as the topmost level. */
  def ofPath(relativePath: String): Level =
    relativePath.split('/') match {
      case Array(_, folder, _) => byName.getOrElse(folder, Day)
      case _                   => Day
    }
}
