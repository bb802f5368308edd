// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import org.apache.iceberg.{BaseTable, TableUtil}
import org.apache.iceberg.encryption.PlaintextEncryptionManager

/** Checks whether a table can be indexed at all; the contents of its snapshots do not matter. */
private[zonemap] object Indexable {

  /** The reason why a table is never indexed. */
  sealed trait Obstacle

  /** The table's uuid identifies its index, because no other identifier of a table is permanent. */
  case object NoUuid extends Obstacle
  final case class FormatVersion(version: Int) extends Obstacle

  /** The index would store the bounds of encrypted files as plain text. */
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
