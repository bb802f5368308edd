// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.settings

sealed trait CoverOnRead

object CoverOnRead {

  /** The query falls back to Iceberg's planning at once; upkeep covers the snapshot in the background. */
  case object Background extends CoverOnRead

  /** The query waits until its snapshot is covered. */
  case object Wait extends CoverOnRead
}
