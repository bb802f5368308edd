// SPDX-License-Identifier: Apache-2.0
package zonemap.spark

/** Counts of this JVM since it started, for tests and monitoring. Zero while the extension is inactive. */
object PlanningCounters {

  /** Scans planned from the index. */
  def plannedScans(): Long = ZoneMapRuntime.active.fold(0L)(_.plannedScans)

  /** Scans that reached the planner and fell back to Iceberg's planning. */
  def fallbacks(): Long = ZoneMapRuntime.active.fold(0L)(_.fallbacks)

  /** Scans whose shadow plan differed from Iceberg's plan, and sampled queries whose rows differed. */
  def shadowMismatches(): Long = ZoneMapRuntime.active.fold(0L)(_.shadowMismatches)

  /** Waits until the background worker has completed its queue; `false` if `timeoutMillis` ran out first. */
  def awaitUpkeep(timeoutMillis: Long): Boolean = ZoneMapRuntime.active.forall(_.awaitUpkeep(timeoutMillis))
}
