// SPDX-License-Identifier: Apache-2.0
package zonemap.spark

import scala.util.control.NonFatal

import org.apache.spark.sql.execution.SparkPlan

/** The section "Zonemap" of a plan. */
final class ZoneMapExplain {
  def title: String = ZoneMapExplain.Title

  def generateExtendedInfo(plan: SparkPlan): String =
    try ZoneMapRuntime.get.fold(why => s"inactive: $why", _.explain(plan))
    catch { case e @ (NonFatal(_) | _: LinkageError) => s"no description of this plan: $e" }
}

private[zonemap] object ZoneMapExplain {
  val Title = "Zonemap"
}
