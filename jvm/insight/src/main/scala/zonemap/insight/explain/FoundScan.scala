// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import org.apache.iceberg.expressions.Expression

import zonemap.iceberg.plan.ZoneMapTable
import zonemap.iceberg.report.{PlanMode, PlanReport}
import zonemap.spark.aggregate.UnplannedScan
import zonemap.spark.scan.{IcebergScans, ZoneMapRelation}

/** A scan of an Iceberg table in a physical plan. */
private[zonemap] sealed trait FoundScan {

  /** The name of the table as statements write it. */
  def sqlName: String

  /** Lines about operators that were found after the scan was planned. */
  def afterPlanning: Seq[ScanNote]

  /** This scan in the plan of a cached query. */
  def cached: FoundScan
}

private[zonemap] object FoundScan {

  /** A scan that Iceberg plans, with the reason. */
  final case class Stock(
      table: String,
      sqlName: String,
      reason: Coded,
      notes: Seq[ScanNote],
      afterPlanning: Seq[ScanNote])
      extends FoundScan {
    override def cached: FoundScan = copy(afterPlanning = afterPlanning :+ Cached)
  }

  /**
   * A scan that was planned from the index.
   *
   * @param report how it was planned; `None` if the report is lost
   * @param details its conditions and operators
   */
  final case class Indexed(
      table: ZoneMapTable,
      sqlName: String,
      report: Option[PlanReport],
      notes: Seq[ScanNote],
      details: Option[ScanDetails],
      afterPlanning: Seq[ScanNote])
      extends FoundScan {
    override def cached: FoundScan = copy(afterPlanning = afterPlanning :+ Cached)
  }

  private val Cached = ScanNote("cached", "Spark reads these files when it fills its cache, and not again")

  /** The relation of a scan, and its use by the query. */
  final case class ScanDetails(relation: ZoneMapRelation, use: ScanUse, report: PlanReport, aggregateNoted: Boolean) {
    def conditions: Seq[ConditionUse] =
      use.scan.scan match {
        case _: UnplannedScan => linesOf(None)
        case planned          => IcebergScans.filterOf(planned).toSeq.flatMap(filter => linesOf(Some(filter)))
      }

    private def linesOf(filter: Option[Expression]): Seq[ConditionUse] =
      new ConditionLines(relation, filter, ConditionMeans.isOfPlan(report)).of(use.conditions)

    def operators: Seq[ScanNote] = new OperatorLines(relation, report).of(use, aggregateNoted)
  }

  def of(
      table: ZoneMapTable,
      sqlName: String,
      report: Option[PlanReport],
      details: PlanReport => Option[ScanDetails],
      notes: Seq[ScanNote],
      afterPlanning: Seq[ScanNote]): FoundScan =
    report match {
      case Some(found) =>
        found.mode match {
          case PlanMode.Stock(reason) =>
            Stock(found.table, sqlName, Coded.of(reason.code, reason.message, reason), notes, afterPlanning)
          case _ => Indexed(table, sqlName, report, notes, details(found), afterPlanning)
        }
      case None => Indexed(table, sqlName, None, notes, None, afterPlanning)
    }
}
