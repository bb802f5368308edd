// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{MetadataColumns, Schema}

import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.PlanReport

/**
 * The result of planning one Iceberg scan ([[ZoneMapBatchScan]]) from the index. Each scan has its own result, so a
 * rule cannot confuse the files or the columns of two scans. Immutable.
 *
 * @param columns the columns of the table that the scan reads, with the field ids that it reads them by; no metadata
 *   columns
 */
private[zonemap] final case class PlannedScan(files: FileSet, columns: Schema, report: PlanReport)

private[plan] object PlannedScan {

  /** @param projection what the scan reads, with metadata columns, whose bounds are not those of the values read */
  def of(files: FileSet, projection: Schema, report: PlanReport): PlannedScan = {
    val columns = projection.columns().asScala.filterNot(column => MetadataColumns.isMetadataColumn(column.fieldId))
    PlannedScan(files, new Schema(columns.asJava), report)
  }
}
