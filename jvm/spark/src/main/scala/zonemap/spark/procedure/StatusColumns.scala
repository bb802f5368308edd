// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.procedure

import org.apache.spark.sql.types._

import zonemap.iceberg.admin.StatusResult

private[procedure] object StatusColumns {

  /** The columns of `status`, in order. */
  val all: Seq[ResultColumn[StatusResult]] = Seq(
    ResultColumn("snapshot_id", LongType, _.snapshotId),
    ResultColumn("covered", BooleanType, _.covered),
    ResultColumn("lag_snapshots", LongType, _.lagSnapshots),
    ResultColumn("data_files", LongType, _.dataFiles),
    ResultColumn("delete_files", LongType, _.deleteFiles),
    ResultColumn("segments", IntegerType, _.segments),
    ResultColumn("bytes", LongType, _.bytes),
    ResultColumn("memory_bytes", LongType, _.memoryBytes),
    ResultColumn("spilled_bytes", LongType, _.spilledBytes),
    ResultColumn("cold_memory_bytes", LongType, _.coldMemoryBytes),
    ResultColumn("cold_disk_bytes", LongType, _.coldDiskBytes),
    ResultColumn("store", StringType, _.store),
    ResultColumn("levels", StringType, _.levels),
    ResultColumn("columns", StringType, _.columns),
    ResultColumn("facts", StringType, _.facts.map { case (fact, bytes) => s"$fact=$bytes" }.mkString(" ")),
    ResultColumn("fact_bytes", LongType, _.facts.map(_._2).sum),
    ResultColumn("problem", StringType, _.problem),
    ResultColumn("bounds", StringType, _.bounds),
    ResultColumn("verdict", StringType, _.verdict),
    ResultColumn("table", StringType, _.table),
    ResultColumn("covered_snapshot_id", LongType, _.coveredSnapshotId),
    ResultColumn("files_covered", LongType, _.coverage.filesCovered),
    ResultColumn("files_total", LongType, _.coverage.filesTotal),
    ResultColumn("snapshots_covered", IntegerType, _.coverage.snapshotsCovered),
    ResultColumn("snapshots_total", IntegerType, _.coverage.snapshotsTotal),
    ResultColumn("lag_seconds", DoubleType, _.lagSeconds),
    ResultColumn("evidence", StringType, _.evidence)
  )
}
