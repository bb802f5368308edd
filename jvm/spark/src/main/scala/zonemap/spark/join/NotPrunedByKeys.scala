// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

import zonemap.iceberg.report.OperatorReason

/** The reasons why the keys of joins above a scan prune no file of it. EXPLAIN finds them as a tag of the scan. */
private[zonemap] object NotPrunedByKeys {
  private val Tag = TreeNodeTag[Seq[OperatorReason]]("zonemap.not-pruned-by-keys")

  /** Notes a reason for each scan of a plan, subqueries left out. */
  def note(plan: LogicalPlan, reason: OperatorReason): Unit =
    plan.foreach {
      case scan: DataSourceV2ScanRelation => scan.setTagValue(Tag, (reasonsFor(scan) :+ reason).distinct)
      case _                              => ()
    }

  /** The reasons in the order in which they were found: those of the innermost join first. */
  def reasonsFor(scan: DataSourceV2ScanRelation): Seq[OperatorReason] = scan.getTagValue(Tag).getOrElse(Nil)
}
