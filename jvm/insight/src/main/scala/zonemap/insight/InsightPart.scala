// SPDX-License-Identifier: Apache-2.0
package zonemap.insight

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.SparkPlan

import zonemap.insight.advice.{AutoFacts, AutoFactsConf, ObserveScans}
import zonemap.insight.explain.ExplainText
import zonemap.insight.history.PlanHistory
import zonemap.insight.procedure.{AdviceProcedure, DiagnosticProcedures}
import zonemap.insight.shadow.RowChecks
import zonemap.spark.conf.ConfEntry
import zonemap.spark.metrics.QueryRuns
import zonemap.spark.part.{StartedPart, ZoneMapPart}
import zonemap.spark.scan.SparkProcess

/** Diagnosis: the section of EXPLAIN, why_not, advice, history, and the checks of rows. */
private[zonemap] final class InsightPart extends ZoneMapPart {
  override def confs: Seq[ConfEntry[_]] = AutoFactsConf.all
  override def start(process: SparkProcess, runs: QueryRuns): StartedInsight = new StartedInsight(process, runs)
}

private[zonemap] final class StartedInsight(process: SparkProcess, runs: QueryRuns) extends StartedPart {
  private val history = new PlanHistory
  private[insight] val observations: ObserveScans = new ObserveScans(scan => autoFacts.observed(scan))
  private lazy val autoFacts = new AutoFacts(process.iceberg, observations.newest)
  private val explainText = new ExplainText(process.tables)
  private[insight] val rowChecks = new RowChecks(process)

  process.iceberg.index.planLog.listen(history)

  override val procedures =
    new DiagnosticProcedures(process, history, runs).all :+ new AdviceProcedure(process, observations).Advise
  override val scanRules = Seq(observations)
  override def queryOf(session: SparkSession): Unit = rowChecks.listenTo(session)
  override def explain(plan: SparkPlan): Option[String] = Some(explainText.of(plan))
}
