// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.registry

import java.util.IdentityHashMap
import zonemap.iceberg.snapshot.SnapshotIndex

/**
 * Adds up the memory of snapshots, and counts each object that they share once. The size on the heap is an estimate
 * from the sizes of the objects; it agrees with a heap histogram within 20 %.
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
