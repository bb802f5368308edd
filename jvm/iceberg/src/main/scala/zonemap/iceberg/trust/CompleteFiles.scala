// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.trust

import zonemap.core.column.Bitmap
import zonemap.core.predicate.Predicate
import zonemap.core.segment.{PathReader, Segment}
import zonemap.iceberg.convert.PartitionTuples
import zonemap.iceberg.snapshot.{SnapshotDeletes, SnapshotIndex}

/**
 * The files of which every row is proven to be in the result of a filter: all rows match, the record count is known,
 * and no delete file can apply. The planner counts their rows without reading them (SOUNDNESS, S94).
 *
 * @param filter TRUE for a row only if the query's whole condition is TRUE
 */
private[zonemap] final class CompleteFiles(index: SnapshotIndex, filter: Predicate, trust: BoundsTrust) {

  /**
   * The files of `rows` of which every row matches and whose record count is proven. [[recordsOf]] then checks delete
   * files.
   */
  def allMatch(segment: Segment, rows: Bitmap): Bitmap = trust.wholeFiles(segment, filter, rows)

  /** A function from a file's row to its number of live rows; 0 if only reading delete files could prove the number. */
  def recordsOf(segment: Segment): CompleteFiles.Records = new CompleteFiles.Records(segment, index.deletes)
}

private[zonemap] object CompleteFiles {

  /** Not thread-safe. */
  final class Records(segment: Segment, deletes: SnapshotDeletes) {
    private lazy val paths: PathReader = segment.newPathReader()
    private val newestByPartition = new Array[java.lang.Long](if (deletes.isEmpty) 0 else segment.partitions.size)

    def apply(row: Int): Long = {
      val records = segment.recordCount(row)
      if (records <= 0 || (!deletes.isEmpty && mayBeDeletedFrom(row))) 0L else records
    }

    private def mayBeDeletedFrom(row: Int): Boolean =
      segment.dataSequenceNumber(row) <= newestDelete(segment.partitionOrdinal(row)) || (deletes.hasPaths && isNamed(
        row))

    /**
     * The greatest data sequence number of the deletes of a partition that do not refer to one data file only. An
     * equality delete does not apply to a file of the same number, but the comparison treats it as if it did: then one
     * more file is not counted, which is safe.
     */
    private def newestDelete(ordinal: Int): Long = {
      if (newestByPartition(ordinal) == null) {
        val partition = segment.partitions(ordinal)
        val key = PartitionTuples.key(partition.specId, partition.values)
        newestByPartition(ordinal) = Long.box(deletes.newestIn(key))
      }
      newestByPartition(ordinal).longValue
    }

    private def isNamed(row: Int): Boolean = deletes.ofPath(paths.path(row)).nonEmpty
  }
}
