package zonemap.iceberg.registry

import java.util.IdentityHashMap
import zonemap.iceberg.snapshot.SnapshotIndex

/**
 * Adds up what snapshots hold, each object that they share once. What is on the heap is estimated by the objects that it
 * is made of; with a histogram of the heap the sum agrees within a fifth.
 */
private[registry] object HeldBytes {

  def of(snapshots: java.lang.Iterable[SnapshotIndex]): Long = {
    val counted = new IdentityHashMap[AnyRef, AnyRef]
    var bytes = 0L
    def once(shared: AnyRef)(size: => Long): Unit = if (counted.put(shared, shared) == null) bytes += size
    snapshots.forEach { snapshot =>
      bytes += snapshot.ownBytes
      snapshot.segments.foreach { live =>
        once(live)(live.ownBytes)
        once(live.origin)(live.origin.ownBytes)
        once(live.segment)(live.residentBytes)
      }
      snapshot.deletes.segments.foreach { live =>
        once(live.origin)(live.origin.ownBytes)
        once(live.segment)(live.segment.heapBytes)
      }
    }
    bytes
  }
}
