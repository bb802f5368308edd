// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import org.apache.spark.sql.execution.SparkPlan

import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.{PlanReport, PlanSteps, SqlText, Survivable}
import zonemap.insight.layout.{ColumnEffect, ScanCondition}
import zonemap.insight.reason.{ConditionEffect, Remedies}
import zonemap.spark.scan.PlannableTables

/**
 * A row of `why_not`: a scan, a condition of it, or an operator above it.
 *
 * @param scan the number of the scan in the plan, from 1; 0 for a plan without a scan
 * @param part "scan", "condition", or the subject of a line of EXPLAIN such as "top-k bound"
 * @param became what the planner made of it; empty if nothing
 * @param decidedBy the partitions, bounds and facts that evaluate a condition
 * @param before files before this row, if the rows of a scan are applied one after the other; -1 if not counted
 * @param after files after it
 * @param alone files that this condition alone keeps
 * @param code the reason or the effect; empty for an operator that prunes
 */
private[zonemap] final case class WhyNotRow(
    scan: Int,
    table: String,
    part: String,
    text: String,
    became: String,
    decidedBy: String,
    before: Long,
    after: Long,
    alone: Long,
    code: String,
    arguments: Map[String, String],
    message: String,
    remedy: String)

/**
 * Explains each scan of a planned query, condition by condition, with numbers of files. It evaluates the conditions on
 * the index again and executes nothing.
 */
private[zonemap] final class WhyNot(tables: PlannableTables) {
  import WhyNot._

  private val finder = new ScanFinder(tables)

  /** @param trial the sentences of a trial for conditions of a scan, in their order */
  def of(plan: SparkPlan, trial: Trial = noTrial): Seq[WhyNotRow] = {
    val scans = finder.of(plan)
    if (scans.isEmpty) Seq(noScan)
    else scans.zipWithIndex.flatMap { case (scan, i) => rowsOf(scan, i + 1, trial) }
  }

  private def rowsOf(scan: FoundScan, number: Int, trial: Trial): Seq[WhyNotRow] = {
    val rows = scan match {
      case stock: FoundScan.Stock     => stockRow(stock) +: stock.notes.map(noted(_, stock.table, stock.sqlName))
      case indexed: FoundScan.Indexed => new IndexedRows(indexed, trial).all
    }
    val table = rows.head.table
    (rows ++ scan.afterPlanning.map(noted(_, table, scan.sqlName))).map(_.copy(scan = number))
  }
}

private[zonemap] object WhyNot {

  /** Tries facts for conditions of a scan; returns a sentence for each: a statement that helps, or that none does. */
  type Trial = (FoundScan.Indexed, FoundScan.ScanDetails, Seq[ConditionUse]) => Seq[String]

  private val noTrial: Trial = (_, _, conditions) => conditions.map(_ => "")

  private val NotCounted = -1L

  private val noScan: WhyNotRow =
    row("", "scan", "").copy(
      code = "NO_SCAN",
      message = "the plan has no scan of an Iceberg table: it reads none, or only metadata",
      remedy = Remedies.template("NO_SCAN")
    )

  private def row(table: String, part: String, text: String): WhyNotRow =
    WhyNotRow(0, table, part, text, "", "", NotCounted, NotCounted, NotCounted, "", Map.empty, "", "")

  private def stockRow(stock: FoundScan.Stock): WhyNotRow =
    coded(row(stock.table, "scan", "").copy(became = "STOCK"), stock.reason, stock.sqlName)

  private def coded(row: WhyNotRow, reason: Coded, sqlName: String): WhyNotRow =
    row.copy(
      code = reason.code,
      arguments = reason.arguments,
      message = reason.message,
      remedy = Remedies.of(reason.code, reason.arguments, sqlName))

  private def noted(note: ScanNote, table: String, sqlName: String): WhyNotRow = {
    val plain = row(table, note.subject, note.text)
    note.reason.fold(plain.copy(became = note.text, message = note.line))(coded(plain, _, sqlName))
  }

  /** The rows of a scan that was planned from the index. */
  private final class IndexedRows(scan: FoundScan.Indexed, trial: Trial) {
    private val table = scan.table.baseName()

    def all: Seq[WhyNotRow] =
      scan.report.map(scanRow).toSeq ++ scan.notes.map(noted(_, table, scan.sqlName)) ++ scan.details.toSeq.flatMap {
        details =>
          conditionRows(details) ++ operatorRows(details)
      }

    private def scanRow(report: PlanReport): WhyNotRow = {
      val byBounds = report.steps.fold(report.facts.fold(report.kept)(_.evaluated)) {
        _.after(PlanSteps.ByPartitions ++ PlanSteps.ByBounds).files
      }
      val parts = report.steps.toSeq.map { steps =>
        s"${ConditionEffect.count(steps.after(PlanSteps.ByPartitions).files)} after partitions"
      } ++ Seq(s"${ConditionEffect.count(byBounds)} after bounds") ++
        report.facts.map(f => s"${ConditionEffect.count(f.kept)} after ${f.step}") ++
        report.limit.map(_ => s"${ConditionEffect.count(report.kept)} after the LIMIT")
      val kept = s"${ConditionEffect.count(report.kept)} of ${ConditionEffect.count(report.considered)} files kept"
      row(table, "scan", report.predicate).copy(
        became = s"${report.mode.name}, tier ${report.tier.fold("-")(_.name)}",
        before = report.considered,
        after = report.kept,
        alone = report.kept,
        message = s"$kept: ${parts.mkString(", ")}"
      )
    }

    private def operatorRows(details: FoundScan.ScanDetails): Seq[WhyNotRow] = {
      val report = details.report
      val used = report.topK.map(b => ScanNote("top-k bound", b)) ++
        report.limit.map(n => ScanNote(s"limit $n", s"${report.kept} of ${report.considered} files"))
      (used ++ details.operators).map(noted(_, table, scan.sqlName)).toSeq
    }

    private def conditionRows(details: FoundScan.ScanDetails): Seq[WhyNotRow] = {
      val conditions = details.conditions
      val rows =
        try {
          val live = scan.table.pinned.liveFiles
          live.fold(conditions.map(uncounted(_, "the index does not cover the snapshot any more")))(
            counted(conditions, _))
        } catch {
          case Survivable(e) => conditions.map(uncounted(_, e.getMessage))
        }
      val wanted = conditions.zip(rows).collect { case (condition, row) if Remedies.tried(row.code) => condition }
      val found = if (wanted.isEmpty) Iterator.empty else trial(scan, details, wanted).iterator
      rows.map(row => if (Remedies.tried(row.code)) row.copy(remedy = joined(row.remedy, found.next())) else row)
    }

    private def uncounted(condition: ConditionUse, why: String): WhyNotRow =
      condition.outcome.fold(
        reason => coded(plain(condition), Coded.of(reason.code, reason.message, reason), scan.sqlName),
        used => {
          val effect = ConditionEffect.NotCounted(why)
          coded(withUse(plain(condition), used), Coded.of(effect.code, effect.message, effect), scan.sqlName)
        }
      )

    private def counted(conditions: Seq[ConditionUse], live: FileSet): Seq[WhyNotRow] = {
      val effects = ColumnEffect.ofEach(conditions.flatMap(_.outcome.toOption).map(_.condition), live).iterator
      var files = live
      conditions.map { condition =>
        val before = files
        condition.outcome match {
          case Left(reason) =>
            coded(plain(condition), Coded.of(reason.code, reason.message, reason), scan.sqlName)
              .copy(before = before.count, after = before.count, alone = live.count)
          case Right(found) =>
            files = ScanCondition.keep(before, Seq(found.condition))
            val effect = effects.next()
            val reason = Coded.of(effect.effect.code, effect.effect.message, effect.effect)
            coded(withUse(plain(condition), found), reason, scan.sqlName)
              .copy(
                before = before.count,
                after = files.count,
                alone = ScanCondition.keep(live, Seq(found.condition)).count,
                remedy = remedyOf(effect, scan.sqlName))
        }
      }
    }

    private def plain(condition: ConditionUse): WhyNotRow = row(table, "condition", condition.text)

    private def withUse(row: WhyNotRow, used: UsedCondition): WhyNotRow =
      row.copy(became = used.predicate.toString, decidedBy = used.means.mkString(", "))
  }

  private def joined(remedy: String, found: String): String =
    Seq(remedy, found).filterNot(text => text.isEmpty || (found.nonEmpty && text == Remedies.Nothing)).mkString(" ")

  private def remedyOf(found: ColumnEffect, table: String): String =
    found.effect match {
      case overlap: ConditionEffect.Overlap =>
        found.sorted.fold(s"No estimate of a sort by `${overlap.column}`: ${found.noEstimate}.") { n =>
          s"Sorting by `${overlap.column}` would keep about ${files(n)}; CALL zonemap.system.advise(table => " +
            s"${SqlText.literal(table)}) gives the statement."
        }
      case most: ConditionEffect.KeepsMost =>
        found.sorted.fold("")(n => s"A sort would keep about ${files(n)}. ") +
          Remedies.of(most.code, Map.empty, table)
      case other =>
        val arguments = Coded.of(other.code, other.message, other).arguments
        Remedies.of(other.code, arguments, table)
    }

  private def files(count: Long): String = ConditionEffect.count(count) + (if (count == 1) " file" else " files")
}
