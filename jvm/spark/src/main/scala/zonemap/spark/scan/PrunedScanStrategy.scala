// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.{FilterExec, ProjectExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation, DataSourceV2Strategy}
import org.apache.spark.sql.internal.SQLConf

/**
 * Gives the scans whose files zonemap prunes the node [[PrunedScanExec]].
 *
 * Spark's own strategy plans the scan, and this strategy replaces the node in its result. No rule on physical plans can
 * do this: Spark discards a node that a rule replaces by an equal node.
 */
private[zonemap] final class PrunedScanStrategy(session: SparkSession) extends SparkStrategy {

  private lazy val ofSpark: Option[DataSourceV2Strategy] =
    session match {
      case classic: ClassicSession => Some(new DataSourceV2Strategy(classic))
      case _                       => None
    }

  override def apply(plan: LogicalPlan): Seq[SparkPlan] =
    plan match {
      case PhysicalOperation(_, _, relation: DataSourceV2ScanRelation) =>
        Guarded
          .orNothing("metrics of its scan") {
            if (isPruned(relation.scan)) ofSpark.map(_.apply(plan).map(replaced)) else None
          }
          .getOrElse(Nil)
      case _ => Nil
    }

  private def isPruned(scan: Scan): Boolean =
    !OtherEngines.areConfigured(SQLConf.get) && (scan match {
      case _: ForwardingScan => true
      case inner             => IcebergScans.planned(inner).isDefined
    })

  private def replaced(plan: SparkPlan): SparkPlan =
    plan match {
      case project: ProjectExec => project.copy(child = replaced(project.child))
      case filter: FilterExec   => filter.copy(child = replaced(filter.child))
      case scan: BatchScanExec  => PrunedScanExec.of(scan)
      case other                => other
    }
}
