// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.history

import java.util.concurrent.atomic.AtomicLong

import zonemap.iceberg.report.{CountedSteps, PlanMode, PlanReport}

/**
 * One planned scan, as plain values.
 *
 * @param reason why Iceberg planned the scan; empty if the index did
 * @param afterBounds files that partitions and bounds kept; -1 if Iceberg planned
 * @param consideredBytes size of all live files, delete files included, as the snapshot's summary states it; -1 if
 *   Iceberg planned, or if the summary does not state it
 * @param keptBytes size of the planned files; -1 if Iceberg planned
 * @param consideredRows rows of all live files, as the snapshot's summary states them; -1 like `consideredBytes`
 * @param keptRows rows of the planned files, deleted rows included; -1 if Iceberg planned
 * @param runs the executions of the query, which are counted after each of them; 0 if it was only planned, as by EXPLAIN
 * @param counted the steps of the plan, which are counted after the scan was planned
 * @param facts the facts that some of these files have
 * @param limit the rows that a LIMIT needs, if fewer files were planned because of it; else -1
 */
private[zonemap] final case class PlanRecord(
    atMillis: Long,
    table: String,
    snapshotId: Long,
    mode: String,
    tier: String,
    reason: String,
    considered: Long,
    afterBounds: Long,
    kept: Long,
    consideredBytes: Long,
    keptBytes: Long,
    consideredRows: Long,
    keptRows: Long,
    counted: CountedSteps,
    runs: AtomicLong,
    facts: String,
    predicate: String,
    topK: String,
    limit: Long,
    millis: Double)

private[zonemap] object PlanRecord {
  private val MaxText = 500

  def of(report: PlanReport): PlanRecord = {
    val (reason, isStock) = report.mode match {
      case PlanMode.Stock(why) => (s"${why.code}: ${why.message}", true)
      case _                   => ("", false)
    }
    def files(count: Long): Long = if (isStock) -1L else count
    PlanRecord(
      report.plannedAtMillis,
      report.table,
      report.snapshotId,
      report.mode.name,
      report.tier.fold("")(_.name),
      reason.take(MaxText),
      files(report.considered),
      files(report.facts.fold(report.kept)(_.evaluated)),
      files(report.kept),
      report.consideredBytes.getOrElse(-1L),
      files(report.keptBytes),
      report.consideredRows.getOrElse(-1L),
      files(report.keptRows),
      report.counted,
      report.runs,
      report.facts.fold("")(_.answered.mkString(", ")).take(MaxText),
      report.predicate.take(MaxText),
      report.topK.getOrElse("").take(MaxText),
      report.limit.getOrElse(-1L),
      report.millis
    )
  }
}
