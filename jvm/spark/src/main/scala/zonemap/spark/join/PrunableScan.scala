// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.internal.SQLConf

import zonemap.iceberg.plan.PlannedScan
import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.OperatorReason
import zonemap.spark.conf.ZoneMapConf
import zonemap.spark.scan._

/** A planned scan from which join keys may prune files. Its files and its columns are those of its own plan. */
private[join] final class PrunableScan(relation: DataSourceV2Relation, val tableName: String, planned: PlannedScan) {
  private val columns = new SchemaColumns(relation, planned.columns, planned.files.trust.facts.kindsOf)

  /** The files that the scan was planned with. */
  def files: FileSet = planned.files

  /** Returns the key of the scan that an expression of its columns is. */
  def key(expression: Expression): Option[ScanKey] = ScanKey.of(expression, columns)

  /** Returns the condition on columns of the scan, if it has one scalar subquery. */
  def subqueryCondition(condition: Expression): Option[SubqueryCondition] = SubqueryCondition.of(condition, columns)
}

/** The [[PrunableScan]]s of one query plan; the result of each lookup is cached. */
private[join] final class PrunableScans {
  import PrunableScans._

  private val found = new java.util.IdentityHashMap[Scan, Either[OperatorReason, PrunableScan]]

  /** Returns the scan, or the reason why no keys prune it. */
  def of(scan: DataSourceV2ScanRelation): Either[OperatorReason, PrunableScan] =
    if (PlannedBefore.isMarked(scan)) Left(OperatorReason.JoinNotTried("the plan of the scan was optimized before"))
    else found.computeIfAbsent(ForwardingScan.unwrapped(scan.scan), _ => lookUp(scan))

  private def lookUp(scan: DataSourceV2ScanRelation): Either[OperatorReason, PrunableScan] =
    for {
      table <- ZoneMapRelation.tableOfScan(scan.relation).toRight(PlannedByIceberg)
      _ <- Either.cond(ZoneMapConf.read(SQLConf.get, scan.relation.options).exists(_.runtimeJoins), (), Off)
      planned <- IcebergScans
        .planned(scan.scan)
        .toRight(if (IcebergScans.isFilterable(scan.scan)) PlannedByIceberg else OfCopies)
    } yield new PrunableScan(scan.relation, table.baseName, planned)
}

private object PrunableScans {
  private val Off = OperatorReason.JoinOff("spark.sql.zonemap.join.runtime.enabled is")
  private val PlannedByIceberg = OperatorReason.JoinNotTried("Iceberg plans the scan")
  private val OfCopies = OperatorReason.JoinNotTried("the scan reads the files that a search for matching rows finds")
}
