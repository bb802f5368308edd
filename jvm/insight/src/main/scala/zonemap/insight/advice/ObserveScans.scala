// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

import zonemap.insight.history.RingBuffer
import zonemap.spark.metrics.QueryRuns
import zonemap.spark.scan.{ForwardingScan, Guarded, PlannedBefore}

/**
 * Retains how the plan uses each of its scans, for `advise`, except the plans of queries that shadow mode and `verify`
 * run. It changes no plan.
 *
 * The optimizer applies a rule to the same scans several times, so each scan is marked once it is retained.
 *
 * @param listener is called with each scan that is retained
 */
private[zonemap] final class ObserveScans(listener: ObservedScan => Unit) extends Rule[LogicalPlan] {
  import ObserveScans._

  private val found = new RingBuffer[ObservedScan](MostScans)

  /** How the newest planned queries use their scans, the newest first. */
  def newest: Seq[ObservedScan] = found.newest

  override def apply(plan: LogicalPlan): LogicalPlan = {
    Guarded.orNothing[Unit]("an observation of its scans") {
      if (!QueryRuns.isCheck) ScanObservation.of(plan, isNew).foreach { scan =>
        found.add(scan)
        listener(scan)
      }
      None
    }
    plan
  }

  private def isNew(scan: DataSourceV2ScanRelation): Boolean = {
    val isNew = scan.getTagValue(Tag).isEmpty && !PlannedBefore.isMarked(scan) &&
      !scan.scan.isInstanceOf[ForwardingScan]
    scan.setTagValue(Tag, ())
    isNew
  }
}

private object ObserveScans {
  private val Tag = TreeNodeTag[Unit]("zonemap.observed")
  private val MostScans = 1000
}
