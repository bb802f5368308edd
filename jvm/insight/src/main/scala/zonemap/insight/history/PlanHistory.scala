// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.history

import zonemap.iceberg.report.{PlanListener, PlanReport}
import zonemap.spark.metrics.QueryRuns

/**
 * The newest scans that reached the planner of this process, at most 1,000, without those of the queries that shadow mode
 * and `verify` run. Thread-safe.
 */
private[zonemap] final class PlanHistory extends PlanListener {
  private val records = new RingBuffer[PlanRecord](1000)

  override def planned(report: PlanReport): Unit = if (!QueryRuns.isCheck) records.add(PlanRecord.of(report))

  /** The newest first. */
  def newest: Seq[PlanRecord] = records.newest
}
