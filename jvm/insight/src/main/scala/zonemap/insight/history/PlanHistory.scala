// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.history

import zonemap.iceberg.report.{PlanListener, PlanReport}

/** The newest scans that reached the planner of this process, at most 1,000. Thread-safe. */
private[zonemap] final class PlanHistory extends PlanListener {
  private val records = new RingBuffer[PlanRecord](1000)

  override def planned(report: PlanReport): Unit = records.add(PlanRecord.of(report))

  /** The newest first. */
  def newest: Seq[PlanRecord] = records.newest
}
