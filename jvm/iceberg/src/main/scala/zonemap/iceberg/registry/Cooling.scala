// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.registry

import zonemap.core.io.ByteSource
import zonemap.core.segment.Segment
import zonemap.iceberg.snapshot.{SegmentOrigin, SegmentPlace, StoredSegment}
import zonemap.iceberg.store.{FileIOByteSource, SpillFiles}

/**
 * Releases the memory of one segment while the index retains the segment.
 *
 * A segment on the heap moves to a local file; if the file cannot be written, the segment is read from its store again.
 * For other segments, the sections in memory are released and read again when a query needs them. The manifests and the
 * roots of the columns that plans have read stay in memory, because they decide whether a query needs the segment. No
 * file is read.
 */
private[registry] object Cooling {

  /**
   * The same segment with less memory; `None` if there is nothing to release or no other place for the segment.
   *
   * @param spill receives segments that are on the heap
   * @param openStored opens the bytes of a segment in its store; `None` if the store cannot be reached
   */
  def of(
      segment: Segment,
      origin: SegmentOrigin,
      spill: SpillFiles,
      openStored: StoredSegment => Option[ByteSource]): Option[(Segment, SegmentOrigin)] =
    origin.place match {
      case SegmentPlace.Memory =>
        val elsewhere = spill.of(origin.source).map(origin.at(SegmentPlace.Spilled, _)).orElse {
          origin.stored.flatMap(openStored).map(origin.at(SegmentPlace.Store, _))
        }
        elsewhere.map(changed => (segment.reopened(changed.source), changed))
      case SegmentPlace.Spilled | SegmentPlace.Store =>
        Option.when(origin.residentBytes(segment) > segment.openedBytes) {
          FileIOByteSource.release(origin.source)
          (segment.reopened(origin.source), origin)
        }
    }
}
