// SPDX-License-Identifier: Apache-2.0
package zonemap.spark

import scala.util.control.NonFatal

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{CommandExecutionMode, SparkPlan}
import org.apache.spark.sql.execution.command.{ExplainCommand, LeafRunnableCommand}

/** The section "Zonemap" of a plan. */
final class ZoneMapExplain {
  def title: String = ZoneMapExplain.Title

  def generateExtendedInfo(plan: SparkPlan): String =
    try ZoneMapRuntime.get.fold(why => s"inactive: $why", _.explain(plan))
    catch { case e @ (NonFatal(_) | _: LinkageError) => s"no description of this plan: $e" }
}

private[zonemap] object ZoneMapExplain {
  val Title = "Zonemap"

  /** Whether the plan is the command EXPLAIN. */
  def isExplain(plan: LogicalPlan): Boolean =
    plan match {
      case _: ExplainCommand | _: ExplainWithSection => true
      case _                                         => false
    }
}

/** EXPLAIN with the section of the plan that it prints. */
private[spark] final case class ExplainWithSection(command: ExplainCommand) extends LeafRunnableCommand {
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
