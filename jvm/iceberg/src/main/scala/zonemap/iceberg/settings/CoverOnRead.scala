package zonemap.iceberg.settings

sealed trait CoverOnRead

object CoverOnRead {

  /** Iceberg plans without delay; the snapshot is covered meanwhile. */
  case object Background extends CoverOnRead

  /** The query waits until its snapshot is covered. */
  case object Wait extends CoverOnRead
}
