package zonemap.iceberg.store

/**
 * The level of the hierarchy a segment belongs to; the folder of its file is named after it.
 *
 * Data segments rise one level a merge: micro (one or a few commits), hour, day. The level decides what is merged with
 * what, never what a segment means.
 */
private[zonemap] sealed abstract class Level(val name: String, val suffix: String)

private[zonemap] object Level {
  case object Micro extends Level("micro", "zm")
  case object Hour extends Level("hour", "zm")
  case object Day extends Level("day", "zm")
  case object Deletes extends Level("deletes", "zmd")

  /** Levels of data segments, the topmost first. */
  val ofData: Seq[Level] = Seq(Day, Hour, Micro)

  private val byName: Map[String, Level] = (Deletes +: ofData).map(level => level.name -> level).toMap

  /** The level in the name of a stored segment; a folder of another name counts as the topmost level. */
  def ofPath(relativePath: String): Level =
    relativePath.split('/') match {
      case Array(_, folder, _) => byName.getOrElse(folder, Day)
      case _                   => Day
    }
}
