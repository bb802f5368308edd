// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.admin

/**
 * The row of `status`: how far the index of a table covers its current snapshot, and the size of the index.
 *
 * Counts, levels and bounds are of `coveredSnapshotId`; counts are `-1` if the index covers no snapshot.
 *
 * @param snapshotId the current snapshot of the table; `-1` for a table without one
 * @param covered whether the index covers the current snapshot
 * @param lagSnapshots the number of snapshots from the newest covered ancestor to the current one; `-1` if unknown
 * @param columns the names of the columns that are indexed, "all" where that is not a choice
 * @param facts the names of the facts, such as `bloom(user_id)`, and the bytes of each
 * @param chosenFacts the facts that upkeep has chosen, tried or dropped by observed scans, each with its reason
 * @param problem why the snapshot is not covered or its index not stored; empty where it is both
 * @param bounds how many data files have bounds of each level of trust
 * @param evidence which files and columns are pruned less for lack of proof, and what would prove them; empty if none are
 * @param verdict the state of the index in a word or two, see [[IndexVerdict]]
 * @param coveredSnapshotId the newest snapshot that the index covers; `-1` if there is none
 * @param coverage files and snapshots that the index covers, and their totals
 * @param lagSeconds the age difference of the newest covered snapshot and the current one; `-1` if unknown
 */
private[zonemap] final case class StatusResult(
    snapshotId: Long,
    covered: Boolean,
    lagSnapshots: Long,
    dataFiles: Long,
    deleteFiles: Long,
    segments: Int,
    bytes: Long,
    memoryBytes: Long,
    spilledBytes: Long,
    coldMemoryBytes: Long,
    coldDiskBytes: Long,
    store: String,
    levels: String,
    columns: String,
    facts: Seq[(String, Long)],
    chosenFacts: Seq[(String, String)],
    problem: String,
    bounds: String,
    evidence: String,
    verdict: String,
    table: String,
    coveredSnapshotId: Long,
    coverage: CoverageCounts,
    lagSeconds: Double)

private[zonemap] object StatusResult {

  /** The row of a table whose status cannot be shown. */
  def failed(table: String, why: String): StatusResult =
    StatusResult(
      snapshotId = -1L,
      covered = false,
      lagSnapshots = -1L,
      dataFiles = -1L,
      deleteFiles = -1L,
      segments = -1,
      bytes = -1L,
      memoryBytes = 0L,
      spilledBytes = 0L,
      coldMemoryBytes = 0L,
      coldDiskBytes = 0L,
      store = "",
      levels = "",
      columns = "",
      facts = Nil,
      chosenFacts = Nil,
      problem = why,
      bounds = "",
      evidence = "",
      verdict = IndexVerdict.Error,
      table = table,
      coveredSnapshotId = -1L,
      coverage = CoverageCounts.Unknown,
      lagSeconds = -1.0
    )
}

/**
 * @param filesCovered data files of the current snapshot that the index holds
 * @param filesTotal data files of the current snapshot; `-1` if the manifest list has no counts
 * @param snapshotsCovered retained snapshots that the index covers
 * @param snapshotsTotal snapshots that the table retains
 */
private[zonemap] final case class CoverageCounts(
    filesCovered: Long,
    filesTotal: Long,
    snapshotsCovered: Int,
    snapshotsTotal: Int)

private[admin] object CoverageCounts {
  val Unknown: CoverageCounts = CoverageCounts(-1L, -1L, -1, -1)
}
