// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.report

import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.atomic.LongAdder

import org.slf4j.LoggerFactory

/** Counts the scans of a process and their runs, writes one line for each scan, and tells listeners. Thread-safe. */
private[zonemap] final class PlanLog {
  private val log = LoggerFactory.getLogger("zonemap.planner")
  private val planned = new LongAdder
  private val stock = new LongAdder
  private val mismatches = new LongAdder
  private val listeners = new CopyOnWriteArrayList[PlanListener]

  /** Scans planned from the index since the process started. */
  def plannedScans: Long = planned.sum()

  /** Scans that reached the planner and fell back to Iceberg. */
  def fallbacks: Long = stock.sum()

  /** Scans whose shadow plan differed, and sampled queries whose rows differed. */
  def shadowMismatches: Long = mismatches.sum()

  /** Calls `listener` from now on. */
  def listen(listener: PlanListener): Unit = listeners.add(listener): Unit

  /** Counts an execution of the query that a scan is part of. */
  def ran(report: PlanReport): Unit = {
    val isFirst = report.runs.getAndIncrement() == 0
    listeners.forEach(_.ran(report, isFirst))
  }

  /** Counts and logs a planned scan. */
  private[zonemap] def record(report: PlanReport): Unit = {
    listeners.forEach(_.planned(report))
    report.mode match {
      case PlanMode.Stock(reason) =>
        stock.increment()
        warn(report, reason)
      case _ => planned.increment()
    }
    // building a line takes a thirtieth of the time that planning one file takes
    if (log.isInfoEnabled) log.info(PlanLog.line(report, "planned_scans" -> plannedScans))
  }

  /** Logs that a query returned other rows than with Iceberg's plan. */
  private[zonemap] def rowsDiffer(tables: Seq[String], rule: String, difference: String, query: String): Unit = {
    mismatches.increment()
    log.error(
      s"Zonemap shadow mode: rows of a query differ from those of Iceberg's plan: $difference; tables: " +
        s"${tables.mkString(", ")}; rule: $rule. This process does not use the index of these tables until CALL " +
        s"zonemap.system.build_index builds it anew. Query: $query. Please report this.")
  }

  /** Logs outcomes that need attention: shadow mismatch, damaged store, planner failure. */
  private def warn(report: PlanReport, reason: StockReason): Unit = reason match {
    case mismatch: StockReason.ShadowMismatch =>
      mismatches.increment()
      log.error(
        s"Zonemap shadow mode: the plan of ${report.table} differs from Iceberg's plan, which the query uses: " +
          s"${mismatch.difference}. Please report this.")
    case damaged: StockReason.StoreDamaged =>
      log.warn(PlanLog.line(report, "damage" -> damaged.detail, "remedy" -> "CALL zonemap.system.build_index"))
    case failed: StockReason.PlannerFailed => log.warn(PlanLog.line(report, "error" -> failed.error))
    case _                                 => ()
  }
}

private object PlanLog {

  /** The line of a scan, with further fields at its end. */
  private def line(report: PlanReport, more: (String, Any)*): String =
    s"Zonemap: ${LogFields.of(report.logFields ++ more)}"
}
