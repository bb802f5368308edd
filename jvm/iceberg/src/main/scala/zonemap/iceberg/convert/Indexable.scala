package zonemap.iceberg.convert

import org.apache.iceberg.{BaseTable, TableUtil}
import org.apache.iceberg.encryption.PlaintextEncryptionManager

/** Whether a table can be indexed at all, whatever its snapshots hold. */
private[zonemap] object Indexable {

  /** Why a table is never indexed. */
  sealed trait Obstacle

  /** Nothing but a table's uuid names its index for good. */
  case object NoUuid extends Obstacle
  final case class FormatVersion(version: Int) extends Obstacle

  /** Bounds are plain text. */
  case object Encrypted extends Obstacle

  private val FormatVersions = 1 to 3

  /** The first obstacle; `None` for a table that can be indexed. */
  def obstacle(table: BaseTable): Option[Obstacle] = {
    val version = TableUtil.formatVersion(table)
    if (table.operations().current().uuid() == null) Some(NoUuid)
    else if (!FormatVersions.contains(version)) Some(FormatVersion(version))
    else if (!table.encryption().isInstanceOf[PlaintextEncryptionManager]) Some(Encrypted)
    else None
  }
}
