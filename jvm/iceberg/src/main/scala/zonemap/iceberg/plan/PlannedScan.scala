// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.PlanReport

/**
 * The result of planning one Iceberg scan ([[ZoneMapBatchScan]]) from the index: its files and its report. Each scan
 * has its own result, so a rule cannot confuse the files of two scans. Immutable.
 */
private[zonemap] final case class PlannedScan(files: FileSet, report: PlanReport)
