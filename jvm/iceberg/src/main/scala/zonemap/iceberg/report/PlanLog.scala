package zonemap.iceberg.report

import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.atomic.LongAdder

import org.slf4j.LoggerFactory

/** Counts the scans of a process, writes one line for each, and retains the newest. Thread-safe. */
private[zonemap] final class PlanLog {
  private val log = LoggerFactory.getLogger("zonemap.planner")
  private val planned = new LongAdder
  private val stock = new LongAdder
  private val mismatches = new LongAdder
  private val listeners = new CopyOnWriteArrayList[PlanReport => Unit]

  /** Scans planned from the index since the process started. */
  def plannedScans: Long = planned.sum()

  /** Scans that reached the planner and fell back to Iceberg. */
  def fallbacks: Long = stock.sum()

  /** Scans whose shadow plan differed, and sampled queries whose rows differed. */
  def shadowMismatches: Long = mismatches.sum()

  /** Calls `listener` with the report of each scan from now on, on the thread that plans it. */
  def listen(listener: PlanReport => Unit): Unit = listeners.add(listener): Unit

  /** The newest scans that reached the planner. */
  val history = new Newest[PlanRecord](PlanLog.HistoryScans)

  /** Counts and logs a scan; returns it as the history has it. */
  private[iceberg] def record(report: PlanReport): PlanRecord = {
    val record = PlanRecord.of(report, System.currentTimeMillis())
    history.add(record)
    report.mode match {
      case PlanMode.Stock(reason) =>
        stock.increment()
        warn(report, reason)
      case _ => planned.increment()
    }
    listeners.forEach(_.apply(report))
    // building a line takes a thirtieth of the time that planning one file takes
    if (log.isInfoEnabled) log.info(PlanLog.line(report, "planned_scans" -> plannedScans))
    record
  }

  /** Logs that a query returned other rows than with Iceberg's plan. */
  private[zonemap] def rowsDiffer(tables: Seq[String], rule: String, difference: String, query: String): Unit = {
    mismatches.increment()
    log.error(
      s"Zonemap shadow mode: rows of a query differ from those of Iceberg's plan: $difference; tables: " +
        s"${tables.mkString(", ")}; rule: $rule. This process does not use the index of these tables until CALL " +
        s"zonemap.system.build builds it anew. Query: $query. Please report this.")
  }

  /** Logs outcomes that need attention: shadow mismatch, damaged store, planner failure. */
  private def warn(report: PlanReport, reason: StockReason): Unit = reason match {
    case mismatch: StockReason.ShadowMismatch =>
      mismatches.increment()
      log.error(
        s"Zonemap shadow mode: the plan of ${report.table} differs from Iceberg's plan, which the query uses: " +
          s"${mismatch.difference}. Please report this.")
    case damaged: StockReason.StoreDamaged =>
      log.warn(PlanLog.line(report, "damage" -> damaged.detail, "remedy" -> "CALL zonemap.system.build"))
    case failed: StockReason.PlannerFailed => log.warn(PlanLog.line(report, "error" -> failed.error))
    case _                                 => ()
  }
}

private object PlanLog {
  private val HistoryScans = 1000

  /** The line of a scan, with further fields at its end. */
  private def line(report: PlanReport, more: (String, Any)*): String =
    s"Zonemap: ${LogFields.of(report.logFields ++ more)}"
}
