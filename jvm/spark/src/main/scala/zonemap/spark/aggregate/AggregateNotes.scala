package zonemap.spark.aggregate

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

import zonemap.iceberg.plan.{AggregateReason, PlanReport, ZoneMapTable}

/**
 * A scan whose files were all answered from the index, for EXPLAIN: the note belongs to the rows that replaced the scan.
 *
 * @param report how the scan was planned
 */
private[spark] final case class AnsweredScan(table: ZoneMapTable, report: Option[PlanReport], note: String)

private[spark] object AnsweredScan {
  val Tag: TreeNodeTag[AnsweredScan] = TreeNodeTag[AnsweredScan]("zonemap.answered")
}

/** Why an aggregate over a scan was not answered from the index, for EXPLAIN: the note belongs to the scan. */
private[spark] object NotAnswered {
  private val Tag = TreeNodeTag[AggregateReason]("zonemap.not-answered")

  def note(scan: DataSourceV2ScanRelation, reason: AggregateReason): Unit = scan.setTagValue(Tag, reason)

  /** The reason noted for a scan below a plan. */
  def reasonFor(scan: Scan, plan: LogicalPlan): Option[AggregateReason] =
    plan
      .collectFirst { case relation: DataSourceV2ScanRelation if relation.scan eq scan => relation }
      .flatMap(_.getTagValue(Tag))
}
