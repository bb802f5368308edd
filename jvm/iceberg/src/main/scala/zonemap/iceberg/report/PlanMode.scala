// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.report

/** How a scan was planned. */
sealed abstract class PlanMode(val name: String)

object PlanMode {

  /** The index contained the snapshot: no manifest and no manifest list was read. */
  case object Exact extends PlanMode("EXACT")

  /** The index contained an older snapshot; the manifest list and the unknown manifests were read. */
  case object Hybrid extends PlanMode("HYBRID")

  /** Iceberg planned the scan. */
  final case class Stock(reason: StockReason) extends PlanMode("STOCK")
}
