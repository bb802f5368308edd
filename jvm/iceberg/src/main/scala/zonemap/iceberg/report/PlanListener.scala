// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.report

/** Hears of the planned scans of a process, on the thread that plans a scan or that counts its run. It must not fail. */
private[zonemap] trait PlanListener {

  /** A scan was planned, or Iceberg planned it. */
  def planned(report: PlanReport): Unit = ()

  /** The query of a planned scan was executed. */
  def ran(report: PlanReport, isFirstRun: Boolean): Unit = ()
}
