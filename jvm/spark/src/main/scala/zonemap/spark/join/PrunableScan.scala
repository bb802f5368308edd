// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.internal.SQLConf

import zonemap.iceberg.plan.PinnedRelation
import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.OperatorReason
import zonemap.spark.conf.ZoneMapConf
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

/**
 * The [[PrunableScan]]s of one query plan; the result of each lookup is cached.
 *
 * @param ofDelta true if the plan writes delete files. Iceberg then plans the scan of the target table, and the
 *   [[PrunableScan]] of the target has the live files of its snapshot instead of the planned files
 * @param tables decides whether the index can plan the target
 */
private[join] final class PrunableScans(ofDelta: Boolean, tables: PlannableTables) {
  private val found = new java.util.IdentityHashMap[Scan, Either[OperatorReason, PrunableScan]]

  /** Returns the scan, or the reason why no keys prune it. */
  def of(scan: DataSourceV2ScanRelation): Either[OperatorReason, PrunableScan] =
    if (PlannedBefore.isMarked(scan)) Left(OperatorReason.JoinNotTried("the plan of the scan was optimized before"))
    else found.computeIfAbsent(ForwardingScan.unwrapped(scan.scan), _ => lookUp(scan))

  private def lookUp(scan: DataSourceV2ScanRelation): Either[OperatorReason, PrunableScan] =
    ZoneMapRelation.unapply(scan.relation) match {
      case Some(ours) if !ours.conf.exists(_.runtimeJoins) =>
        Left(OperatorReason.JoinOff("spark.sql.zonemap.join.runtime.enabled is"))
      case Some(ours) =>
        IcebergScans
          .planned(scan.scan)
          .map(planned => new PrunableScan(ours.relation, ours.sparkTable, ours.table.baseName, planned.files))
          .toRight(PrunableScans.PlannedByIceberg)
      case None => (if (ofDelta) ofTarget(scan.relation) else None).toRight(PrunableScans.PlannedByIceberg)
    }

  /** Returns the scan of a command's target. The command reads the snapshot that its table is pinned to. */
  private def ofTarget(relation: DataSourceV2Relation): Option[PrunableScan] =
    for {
      target <- Option(RowLevelTables.mergeOnReadTarget(relation.table))
      if ZoneMapRelation.isPinned(relation) && ZoneMapConf.read(SQLConf.get, relation.options).exists(_.runtimeJoins)
      pinned <- pinnedTarget(target, relation)
      files <- pinned.liveFiles
    } yield new PrunableScan(relation, target, pinned.name, files)

  private def pinnedTarget(target: SparkTable, relation: DataSourceV2Relation): Option[PinnedRelation] =
    tables.decide(target, relation.options) match {
      case SwapDecision.Swap(inner, settings) => Some(tables.pinned(target, inner, settings))
      case _                                  => None
    }
}

private object PrunableScans {
  private val PlannedByIceberg = OperatorReason.JoinNotTried("Iceberg plans the scan")
}
