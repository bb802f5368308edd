// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.{FilterExec, ProjectExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation, DataSourceV2Strategy}
import org.apache.spark.sql.internal.SQLConf

import zonemap.spark.conf.ZoneMapConf

/**
 * Gives the scans whose files zonemap prunes the node [[PrunedScanExec]].
 *
 * Spark's own strategy plans the scan, and this strategy replaces the node in its result. No rule on physical plans can
 * do this: Spark discards a node that a rule replaces by an equal node. The scans share their broadcasts from then on
 * ([[SharedBroadcasts]]).
 *
 * The target of a copy-on-write command keeps Spark's node, which filters its scan through an [[IndexedScan]]: the
 * halves of an UPDATE by a subquery share one scan and filter it from different threads (S187).
 */
private[zonemap] final class PrunedScanStrategy(session: SparkSession, broadcasts: SharedBroadcasts)
    extends SparkStrategy {

  private lazy val ofSpark: Option[DataSourceV2Strategy] =
    session match {
      case classic: SparkMinor.ClassicSession => Some(new DataSourceV2Strategy(classic))
      case _                                  => None
    }

  override def apply(plan: LogicalPlan): Seq[SparkPlan] =
    plan match {
      case PhysicalOperation(_, _, relation: DataSourceV2ScanRelation) =>
        Guarded
          .orNothing("metrics of its scan") {
            if (OtherEngines.areConfigured(SQLConf.get)) None
            else if (isPruned(relation.scan))
              ofSpark.map(_.apply(served(plan, relation)).map(replaced(_, relation.scan)))
            else if (isTargetOfCopy(relation)) ofSpark.map(_.apply(indexed(plan, relation)))
            else None
          }
          .getOrElse(Nil)
      case _ => Nil
    }

  private def isPruned(scan: Scan): Boolean =
    scan match {
      case _: ForwardingScan => true
      case inner             => IcebergScans.planned(inner).isDefined
    }

  /** True for the target of a copy-on-write command that the index plans, which Spark filters by files. */
  private def isTargetOfCopy(relation: DataSourceV2ScanRelation): Boolean =
    SwapRule.isOfCommand(relation.relation.options) && IcebergScans.isFilteredByFiles(relation.scan)

  /** Lets the scan share its broadcasts, and gives Spark's strategy an [[IndexedScan]], if the query's confs do. */
  private def served(plan: LogicalPlan, relation: DataSourceV2ScanRelation): LogicalPlan =
    if (!ZoneMapConf.read(SQLConf.get, relation.relation.options).exists(_.planner.ownSplits)) plan
    else {
      broadcasts.serve(relation.scan)
      if (IcebergScans.isFilterable(relation.scan)) indexed(plan, relation) else plan
    }

  private def indexed(plan: LogicalPlan, relation: DataSourceV2ScanRelation): LogicalPlan =
    plan.transformDown {
      case same: DataSourceV2ScanRelation if same eq relation => same.copy(scan = new IndexedScan(same.scan))
    }

  private def replaced(plan: SparkPlan, scan: Scan): SparkPlan =
    plan match {
      case project: ProjectExec => project.copy(child = replaced(project.child, scan))
      case filter: FilterExec   => filter.copy(child = replaced(filter.child, scan))
      case node: BatchScanExec  => PrunedScanExec.of(node, scan)
      case other                => other
    }
}
