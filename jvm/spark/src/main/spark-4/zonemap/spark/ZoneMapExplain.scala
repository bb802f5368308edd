// SPDX-License-Identifier: Apache-2.0
package zonemap.spark

import scala.util.control.NonFatal

import org.apache.spark.sql.ExtendedExplainGenerator
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.command.ExplainCommand

/**
 * Adds the section "Zonemap" to EXPLAIN and to the SQL tab. [[ZoneMapExtension]] registers it; `zonemap.spark.ZoneMapExplain`
 * in `spark.sql.extendedExplainProviders` does so too, for sessions without the extension. Never fails a query.
 */
final class ZoneMapExplain extends ExtendedExplainGenerator {
  override def title: String = ZoneMapExplain.Title

  override def generateExtendedInfo(plan: SparkPlan): String =
    try ZoneMapRuntime.get.fold(why => s"inactive: $why", _.explain(plan))
    catch { case e @ (NonFatal(_) | _: LinkageError) => s"no description of this plan: $e" }
}

private[zonemap] object ZoneMapExplain {
  val Title = "Zonemap"

  /** Whether the plan is the command EXPLAIN. */
  def isExplain(plan: LogicalPlan): Boolean = plan.isInstanceOf[ExplainCommand]
}
