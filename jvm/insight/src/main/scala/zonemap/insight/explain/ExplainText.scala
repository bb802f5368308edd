// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import org.apache.spark.sql.execution.{SparkPlan, SQLExecution}

import zonemap.core.value.ValueText
import zonemap.iceberg.report.{MillisText, PlanReport, Survivable}
import zonemap.spark.ZoneMapExplain
import zonemap.spark.scan.PlannableTables

/**
 * Creates the text of the EXPLAIN section, which describes how each scan of a query was planned. EXPLAIN counts the
 * steps of the plan; the text of an execution, for the SQL tab, has them if `steps.enabled` is on.
 *
 * Iceberg plans files while Spark optimizes the query, so the text is complete before the query runs.
 */
private[zonemap] final class ExplainText(tables: PlannableTables) {
  import ExplainText._

  private val finder = new ScanFinder(tables)

  def of(plan: SparkPlan): String = {
    val isRun = isExecution(plan)
    val texts = finder.of(plan).map(describe(_, isRun))
    if (texts.isEmpty) "no scan of an Iceberg table: the plan reads none, or only metadata" else texts.mkString("\n")
  }

  private def describe(scan: FoundScan, isRun: Boolean): String = {
    val (head, lines) = scan match {
      case FoundScan.Stock(table, _, reason, notes, _) =>
        val head = headed(s"table $table mode STOCK", Seq(s"reason: ${reason.code} (${reason.message})"))
        (Some(head), notes.map(_.line))
      case FoundScan.Indexed(_, _, report, notes, details, _) =>
        val steps = report.map(r => new StepLines(r, if (isRun) r.stepsOfRun else r.steps))
        val counted = steps.fold(Set.empty[String])(_.subjects)
        (
          report.zip(steps).map { case (r, lines) => describe(r, lines) },
          notes.filterNot(n => counted(n.subject)).map(_.line) ++ details.toSeq.flatMap(linesOf(_, isRun)))
    }
    (head ++ (lines ++ scan.afterPlanning.map(_.line)).map(indented)).mkString("\n")
  }

  /** A line of its own, whatever the names of the columns hold. */
  private def indented(line: String): String = "  " + ValueText.printable(line)

  private def headed(head: String, lines: Seq[String]): String =
    (ValueText.printable(head) +: lines.map(indented)).mkString("\n")

  private def linesOf(details: FoundScan.ScanDetails, isRun: Boolean): Seq[String] =
    try {
      val (listed, implied) = NullChecks.split(details.conditions, details.use)
      val removes =
        if (isRun && !details.report.countsRuns) listed.map(_ => None) else removing(listed, details.report)
      val lines = listed.zip(removes).map { case (condition, removes) => condition.line(removes) }
      val hint = Option.when(listed.exists(_.outcome.isLeft))(Hint)
      lines ++ NullChecks.line(implied) ++ hint ++ details.operators.map(_.line)
    } catch { case Survivable(e) => Seq(s"conditions: not listed, because of an error: $e") }

  /** Whether each condition that the index evaluates removes a file; `None` for others, and if that is not counted. */
  private def removing(conditions: Seq[ConditionUse], report: PlanReport): Seq[Option[Boolean]] = {
    val parts = conditions.flatMap(_.outcome.toOption).map(used => (used.condition.filter, used.condition.derived))
    val found = report.removing(parts).map(_.iterator)
    conditions.map(condition => found.filter(_ => condition.outcome.isRight).map(_.next()))
  }

  private def describe(report: PlanReport, steps: StepLines): String =
    headed(
      s"table ${report.table} snapshot ${report.snapshotId} mode ${report.mode.name} tier ${report.tier.fold("-")(_.name)}",
      steps.all :+ s"planned in ${MillisText.of(report.millis)} ms"
    )
}

private object ExplainText {

  /** Whether Spark executes the plan, and makes the text for the SQL tab. EXPLAIN is an execution of another plan. */
  private def isExecution(plan: SparkPlan): Boolean = {
    val running = for {
      session <- Option(plan.session)
      id <- Option(session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
      found <- Option(SQLExecution.getQueryExecution(id.toLong))
    } yield found.logical
    running.exists(!ZoneMapExplain.isExplain(_))
  }

  private val Hint =
    "what would help: CALL zonemap.system.why_not tries it for this query, zonemap.system.advise for many"
}
