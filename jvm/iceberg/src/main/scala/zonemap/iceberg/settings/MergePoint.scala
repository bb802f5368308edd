package zonemap.iceberg.settings

import java.util.UUID

/**
 * The moment a flush asks whether the runs are to be merged.
 *
 * @param runs micro segments of the snapshot
 * @param sequenceNumber of the snapshot
 * @param previousSequenceNumber the highest one before the newest run
 */
final case class MergePoint(tableUuid: UUID, sequenceNumber: Long, previousSequenceNumber: Long, runs: Int)
