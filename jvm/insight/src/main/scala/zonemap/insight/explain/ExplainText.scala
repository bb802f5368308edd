// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import org.apache.spark.sql.execution.SparkPlan

import zonemap.core.value.ValueText
import zonemap.iceberg.report.{MillisText, PlanReport, Survivable}
import zonemap.spark.scan.PlannableTables

/**
 * Creates the text of the EXPLAIN section, which describes how each scan of a query was planned.
 *
 * Iceberg plans files while Spark optimizes the query, so the text is complete before the query runs.
 */
private[zonemap] final class ExplainText(tables: PlannableTables) {
  import ExplainText._

  private val finder = new ScanFinder(tables)

  def of(plan: SparkPlan): String = {
    val texts = finder.of(plan).map(describe)
    if (texts.isEmpty) "no scan of an Iceberg table: the plan reads none, or only metadata" else texts.mkString("\n")
  }

  private def describe(scan: FoundScan): String = {
    val (head, lines) = scan match {
      case FoundScan.Stock(table, _, reason, notes, _) =>
        val head = headed(s"table $table mode STOCK", Seq(s"reason: ${reason.code} (${reason.message})"))
        (Some(head), notes.map(_.line))
      case FoundScan.Indexed(_, _, report, notes, details, _) =>
        val counted = report.fold(Set.empty[String])(StepLines.subjects)
        (report.map(describe), notes.filterNot(n => counted(n.subject)).map(_.line) ++ details.toSeq.flatMap(linesOf))
    }
    (head ++ (lines ++ scan.afterPlanning.map(_.line)).map(indented)).mkString("\n")
  }

  /** A line of its own, whatever the names of the columns hold. */
  private def indented(line: String): String = "  " + ValueText.printable(line)

  private def headed(head: String, lines: Seq[String]): String =
    (ValueText.printable(head) +: lines.map(indented)).mkString("\n")

  private def linesOf(details: FoundScan.ScanDetails): Seq[String] =
    try {
      val (listed, implied) = NullChecks.split(details.conditions, details.use)
      val lines =
        listed.zip(removing(listed, details.report)).map { case (condition, removes) => condition.line(removes) }
      val hint = Option.when(listed.exists(_.outcome.isLeft))(Hint)
      lines ++ NullChecks.line(implied) ++ hint ++ details.operators.map(_.line)
    } catch { case Survivable(e) => Seq(s"conditions: not listed, because of an error: $e") }

  /** Whether each condition that the index evaluates removes a file; `None` for others, and if that is not counted. */
  private def removing(conditions: Seq[ConditionUse], report: PlanReport): Seq[Option[Boolean]] = {
    val parts = conditions.flatMap(_.outcome.toOption).map(used => (used.condition.filter, used.condition.derived))
    val found = report.removing(parts).map(_.iterator)
    conditions.map(condition => found.filter(_ => condition.outcome.isRight).map(_.next()))
  }

  private def describe(report: PlanReport): String =
    headed(
      s"table ${report.table} snapshot ${report.snapshotId} mode ${report.mode.name} tier ${report.tier.fold("-")(_.name)}",
      StepLines.of(report) :+ s"planned in ${MillisText.of(report.millis)} ms"
    )
}

private object ExplainText {
  private val Hint =
    "what would help: CALL zonemap.system.why_not tries it for this query, zonemap.system.advise for many"
}
