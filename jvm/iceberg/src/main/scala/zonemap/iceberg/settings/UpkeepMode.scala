// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.settings

sealed trait UpkeepMode

object UpkeepMode {

  /** Only procedures index snapshots. */
  case object Off extends UpkeepMode

  /** Snapshots are covered in this JVM's memory only. */
  case object Memory extends UpkeepMode

  /** Snapshots are covered and written to the table's store. */
  case object Persist extends UpkeepMode

  /** [[Persist]] where the table already has a store, else [[Memory]]. */
  case object Auto extends UpkeepMode
}
