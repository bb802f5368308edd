// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.procedure

import org.apache.spark.sql.types._

import zonemap.iceberg.admin.StatusResult

private[procedure] object StatusColumns {

  /** The columns of `index_status`: the state of the index, its size, then what only a diagnosis needs. */
  val all: Seq[ResultColumn[StatusResult]] = Seq(
    ResultColumn("table", StringType, "The table, with its catalog.", _.table),
    ResultColumn(
      "verdict",
      StringType,
      "The state of the index: 'fresh'; 'catching up' (upkeep works on the newest commits, or has had too " +
        "little time); 'behind' (no upkeep follows the commits, or it fails or hangs); 'damaged: <why>'; " +
        "'unreadable: <why>'; 'not persisted: <why>' (the index is in memory only); 'no index'; 'no snapshot' " +
        "(the table has none); 'error' (the status cannot be shown; problem has the message).",
      _.verdict
    ),
    ResultColumn(
      "problem",
      StringType,
      "Why the snapshot is not covered, or why its index is not in the store; the message of an error; " +
        "empty if it is covered and stored.",
      _.problem
    ),
    ResultColumn(
      "files_covered",
      LongType,
      "Number of data files of the current snapshot that the index holds. Plans of mode HYBRID use these " +
        "from the index, and read the other manifests.",
      _.coverage.filesCovered
    ),
    ResultColumn(
      "files_total",
      LongType,
      "Number of data files of the current snapshot; -1 if its manifest list has no counts.",
      _.coverage.filesTotal),
    ResultColumn(
      "lag_snapshots",
      LongType,
      "Number of snapshots from the newest covered ancestor to the current one; -1 if it is unknown.",
      _.lagSnapshots),
    ResultColumn(
      "lag_seconds",
      DoubleType,
      "Age difference of the newest covered snapshot and the current one; -1 if it is unknown.",
      _.lagSeconds),
    ResultColumn("bytes", LongType, "Size of these segments in the store; 0 if they are in memory only.", _.bytes),
    ResultColumn("memory_bytes", LongType, "Driver memory of this table's index: the hot tier.", _.memoryBytes),
    ResultColumn(
      "covered",
      BooleanType,
      "True if the index covers the current snapshot, so that the next plan is EXACT.",
      _.covered),
    ResultColumn(
      "snapshots_covered",
      IntegerType,
      "Number of retained snapshots that the index covers.",
      _.coverage.snapshotsCovered),
    ResultColumn(
      "snapshots_total",
      IntegerType,
      "Number of snapshots that the table retains.",
      _.coverage.snapshotsTotal),
    ResultColumn(
      "data_files",
      LongType,
      "Number of data files of covered_snapshot_id; -1 if nothing is covered, as for all counts.",
      _.dataFiles),
    ResultColumn("delete_files", LongType, "Number of delete files.", _.deleteFiles),
    ResultColumn("segments", IntegerType, "Number of segments.", _.segments),
    ResultColumn(
      "levels",
      StringType,
      "Number of segments of each level, such as 'day=1 hour=3 micro=7'; empty if nothing is covered.",
      _.levels),
    ResultColumn(
      "columns",
      StringType,
      "The columns whose bounds the index retains, 'all' if no columns were chosen.",
      _.columns),
    ResultColumn(
      "facts",
      StringType,
      "Facts beyond bounds and the bytes of each, such as 'values(status)=2048 bloom(user_id)=65536'.",
      _.facts.map { case (fact, bytes) => s"$fact=$bytes" }.mkString(" ")
    ),
    ResultColumn("fact_bytes", LongType, "Size of all facts.", _.facts.map(_._2).sum),
    ResultColumn(
      "chosen_facts",
      StringType,
      "The facts that upkeep.autoFacts has chosen, tried or dropped, each with its reason, such as " +
        "'bloom(user_id): chosen, ..'; empty without any.",
      _.chosenFacts.map { case (fact, note) => s"$fact: $note" }.mkString("; ")
    ),
    ResultColumn(
      "bounds",
      StringType,
      "Number of data files by the permitted use of their bounds, such as 'extremes=90 valid=8 doubtful=2'. " +
        "extremes: all pruning, MIN and MAX. valid: all pruning. doubtful (no evidence): only filters that " +
        "Iceberg evaluates too; footers of build_index and refresh_index raise it.",
      _.bounds
    ),
    ResultColumn(
      "evidence",
      StringType,
      "Which files and columns prune less because nothing proves their bounds, and what would prove them; " +
        "empty if there are none.",
      _.evidence
    ),
    ResultColumn(
      "spilled_bytes",
      LongType,
      "Size of the local files to which this JVM has spilled segments.",
      _.spilledBytes),
    ResultColumn(
      "cold_memory_bytes",
      LongType,
      "Driver memory that caches files of a store that is not local.",
      _.coldMemoryBytes),
    ResultColumn(
      "cold_disk_bytes",
      LongType,
      "Size of the local files that cache files of a store that is not local.",
      _.coldDiskBytes),
    ResultColumn("store", StringType, "Folder of the index files, whether it exists or not.", _.store),
    ResultColumn("snapshot_id", LongType, "The table's current snapshot; -1 if it has none.", _.snapshotId),
    ResultColumn(
      "covered_snapshot_id",
      LongType,
      "The newest snapshot that the index covers; -1 if it covers none. Counts of files, segments, bytes, " +
        "levels and bounds are of it.",
      _.coveredSnapshotId
    )
  )
}
