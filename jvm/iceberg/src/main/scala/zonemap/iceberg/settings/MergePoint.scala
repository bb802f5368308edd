// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.settings

import java.util.UUID

/**
 * The state of a table at a flush, from which a [[MergePolicy]] decides whether runs are merged.
 *
 * @param runs the number of micro segments of the snapshot
 * @param sequenceNumber the sequence number of the snapshot
 * @param previousSequenceNumber the greatest sequence number before the newest run
 */
final case class MergePoint(tableUuid: UUID, sequenceNumber: Long, previousSequenceNumber: Long, runs: Int)
