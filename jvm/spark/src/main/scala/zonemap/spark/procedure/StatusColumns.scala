// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.procedure

import org.apache.spark.sql.types._

import zonemap.iceberg.admin.StatusResult

private[procedure] object StatusColumns {

  /** The columns of `index_status`: the state of the index, its size, then what only a diagnosis needs. */
  val all: Seq[ResultColumn[StatusResult]] = Seq(
    ResultColumn("table", StringType, _.table),
    ResultColumn("verdict", StringType, _.verdict),
    ResultColumn("problem", StringType, _.problem),
    ResultColumn("files_covered", LongType, _.coverage.filesCovered),
    ResultColumn("files_total", LongType, _.coverage.filesTotal),
    ResultColumn("lag_snapshots", LongType, _.lagSnapshots),
    ResultColumn("lag_seconds", DoubleType, _.lagSeconds),
    ResultColumn("bytes", LongType, _.bytes),
    ResultColumn("memory_bytes", LongType, _.memoryBytes),
    ResultColumn("covered", BooleanType, _.covered),
    ResultColumn("snapshots_covered", IntegerType, _.coverage.snapshotsCovered),
    ResultColumn("snapshots_total", IntegerType, _.coverage.snapshotsTotal),
    ResultColumn("data_files", LongType, _.dataFiles),
    ResultColumn("delete_files", LongType, _.deleteFiles),
    ResultColumn("segments", IntegerType, _.segments),
    ResultColumn("levels", StringType, _.levels),
    ResultColumn("columns", StringType, _.columns),
    ResultColumn("facts", StringType, _.facts.map { case (fact, bytes) => s"$fact=$bytes" }.mkString(" ")),
    ResultColumn("fact_bytes", LongType, _.facts.map(_._2).sum),
    ResultColumn("bounds", StringType, _.bounds),
    ResultColumn("evidence", StringType, _.evidence),
    ResultColumn("spilled_bytes", LongType, _.spilledBytes),
    ResultColumn("cold_memory_bytes", LongType, _.coldMemoryBytes),
    ResultColumn("cold_disk_bytes", LongType, _.coldDiskBytes),
    ResultColumn("store", StringType, _.store),
    ResultColumn("snapshot_id", LongType, _.snapshotId),
    ResultColumn("covered_snapshot_id", LongType, _.coveredSnapshotId)
  )
}
