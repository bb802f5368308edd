// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.aggregate

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.types.StructType

import zonemap.iceberg.report.{AggregateReason, PlanReport}
import zonemap.spark.scan.ZoneMapRelation

/**
 * A scan that rows from the index replaced completely.
 *
 * @param report the report of the scan's plan
 * @param scan the replaced scan, which is an [[UnplannedScan]] if it was not planned
 * @param conditions the conditions of the filters above it, as expressions of its columns
 */
private[zonemap] final case class AnsweredScan(
    relation: ZoneMapRelation,
    report: Option[PlanReport],
    note: String,
    scan: DataSourceV2ScanRelation,
    conditions: Seq[Expression])

private[zonemap] object AnsweredScan {

  /** The text that EXPLAIN shows for planned files of which some are left to be read. */
  def note(planned: Long, read: Long): String =
    s"aggregates: ${planned - read} of $planned files answered from the index, $read read"
}

/** Stands for the scan of an aggregate that was answered before its scan was planned. */
private[zonemap] final case class UnplannedScan(override val readSchema: StructType) extends Scan

/** The reason why the index does not provide an aggregate over a scan. EXPLAIN finds it as a tag of the scan. */
private[zonemap] object NotAnswered {
  private val Tag = TreeNodeTag[AggregateReason]("zonemap.not-answered")

  def note(scan: DataSourceV2ScanRelation, reason: AggregateReason): Unit = scan.setTagValue(Tag, reason)

  /** Returns the reason that is noted for a scan within a plan. */
  def reasonFor(scan: Scan, plan: LogicalPlan): Option[AggregateReason] =
    plan
      .collectFirst { case relation: DataSourceV2ScanRelation if relation.scan eq scan => relation }
      .flatMap(_.getTagValue(Tag))
}
