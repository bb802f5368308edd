package zonemap.iceberg.registry

import zonemap.core.io.ByteSource
import zonemap.core.segment.Segment
import zonemap.iceberg.snapshot.{SegmentOrigin, SegmentPlace, StoredSegment}
import zonemap.iceberg.store.{FileIOByteSource, SpillFiles}

/**
 * Lets go of the memory of one segment without forgetting it.
 *
 * A segment on the heap goes to a local file, or back to its store where there is no room; of all others what was read
 * is dropped, to be read again when a query needs it. What tells whether it is needed stays: its manifests and the roots
 * of the columns that were asked about. No file is read.
 */
private[registry] object Cooling {

  /**
   * The same segment with less memory; `None` if there is nothing to let go of, or no other place for it.
   *
   * @param spill where segments go that no store holds
   * @param openStored the bytes of a segment in its store, if that can be reached
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
