// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.runtime

import scala.util.control.NonFatal

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{AnalysisOnlyCommand, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{CodegenMode, CommandExecutionMode}
import org.apache.spark.sql.execution.command.{ExplainCommand, LeafRunnableCommand}

import zonemap.spark.ZoneMapExplain

/** Adds the section "Zonemap" to the output of the statement EXPLAIN: Spark 3.5 asks no extension for one. */
private[runtime] object ExplainRule extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    plan match {
      case command: ExplainCommand if command.mode != CodegenMode && !isOther(command.logicalPlan) =>
        ExplainWithSection(command)
      case other => other
    }

  /** Spark explains a stream by another execution, and some commands once it has marked them as analyzed. */
  private def isOther(plan: LogicalPlan): Boolean =
    plan.isStreaming || plan.exists(_.isInstanceOf[AnalysisOnlyCommand])
}

/** EXPLAIN with the section of the plan that it prints. */
private[runtime] final case class ExplainWithSection(command: ExplainCommand) extends LeafRunnableCommand {
  override val output: Seq[Attribute] = command.output

  override def run(session: SparkSession): Seq[Row] =
    try {
      val query = session.sessionState.executePlan(command.logicalPlan, CommandExecutionMode.SKIP)
      query.assertAnalyzed()
      val section = new ZoneMapExplain
      val heading = s"== Extended Information (${section.title}) =="
      val text = query.explainString(command.mode)
      Seq(Row(s"$text\n$heading\n${section.generateExtendedInfo(query.executedPlan)}\n"))
    } catch { case NonFatal(_) => command.run(session) }
}
