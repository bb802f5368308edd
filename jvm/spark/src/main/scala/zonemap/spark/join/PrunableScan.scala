// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}

import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.OperatorReason
import zonemap.spark.scan._

/**
 * A planned scan from which join keys may prune files.
 *
 * @param files at least the files that the scan was planned with
 */
private[join] final class PrunableScan(
    relation: DataSourceV2Relation,
    sparkTable: SparkTable,
    val tableName: String,
    val files: FileSet) {
  private val columns = new SchemaColumns(relation, SparkTables.schema(sparkTable))

  /** Returns the key of the scan that an expression of its columns is. */
  def key(expression: Expression): Option[ScanKey] = ScanKey.of(expression, columns)

  /** Returns the condition on columns of the scan, if it has one scalar subquery. */
  def subqueryCondition(condition: Expression): Option[SubqueryCondition] = SubqueryCondition.of(condition, columns)
}

/** The [[PrunableScan]]s of one query plan; the result of each lookup is cached. */
private[join] final class PrunableScans {
  private val found = new java.util.IdentityHashMap[Scan, Either[OperatorReason, PrunableScan]]

  /** Returns the scan, or the reason why no keys prune it. */
  def of(scan: DataSourceV2ScanRelation): Either[OperatorReason, PrunableScan] =
    if (PlannedBefore.isMarked(scan)) Left(OperatorReason.JoinNotTried("the plan of the scan was optimized before"))
    else found.computeIfAbsent(ForwardingScan.unwrapped(scan.scan), _ => lookUp(scan))

  private def lookUp(scan: DataSourceV2ScanRelation): Either[OperatorReason, PrunableScan] =
    ZoneMapRelation.ofScan(scan.relation) match {
      case Some(ours) if !ours.conf.exists(_.runtimeJoins) =>
        Left(OperatorReason.JoinOff("spark.sql.zonemap.join.runtime.enabled is"))
      case Some(ours) =>
        IcebergScans
          .planned(scan.scan)
          .map(planned => new PrunableScan(ours.relation, ours.sparkTable, ours.table.baseName, planned.files))
          .toRight(if (IcebergScans.isFilterable(scan.scan)) PrunableScans.PlannedByIceberg else PrunableScans.OfCopies)
      case None => Left(PrunableScans.PlannedByIceberg)
    }
}

private object PrunableScans {
  private val PlannedByIceberg = OperatorReason.JoinNotTried("Iceberg plans the scan")
  private val OfCopies = OperatorReason.JoinNotTried("the scan reads the files that a search for matching rows finds")
}
