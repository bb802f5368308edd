// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.runtime

import org.apache.spark.sql.catalyst.plans.logical.{AnalysisOnlyCommand, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.CodegenMode
import org.apache.spark.sql.execution.command.ExplainCommand

import zonemap.spark.ExplainWithSection

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
