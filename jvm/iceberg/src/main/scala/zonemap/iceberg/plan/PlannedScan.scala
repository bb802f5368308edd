package zonemap.iceberg.plan

/**
 * What a scan was planned from: its files as the index knows them, and the report of the plan. It belongs to one Iceberg
 * scan ([[ZoneMapBatchScan]]), so nothing that is done with the files of a scan can take the files of another. Immutable.
 */
private[zonemap] final case class PlannedScan(files: FileSet, report: PlanReport)
