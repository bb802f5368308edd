// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.snapshot

import java.util.Arrays

import zonemap.core.io.HeapBytes

/**
 * Rows of delete files by the path of the only data file that they refer to. One array holds the rows in the order of
 * the paths' hashes; an open-addressing hash table holds the place where the rows of each hash start. The paths
 * themselves are not copied from the delete files. Thread-safe.
 */
private[snapshot] final class PathRows(deletes: Array[LiveDelete]) {
  import PathRows._

  private val ordered: Array[Long] = {
    val found = Array.newBuilder[Long]
    deletes.indices.foreach { row =>
      deletes(row).dataFile.foreach(path => found += (spread(path).toLong << 32) | row)
    }
    val hashesAndRows = found.result()
    Arrays.sort(hashesAndRows)
    hashesAndRows
  }

  /** The place in `ordered` where the rows of a hash start, plus one; 0 in an empty slot. */
  private val slots: Array[Int] = {
    val starts = ordered.indices.filter(i => i == 0 || hashAt(i) != hashAt(i - 1))
    val table = new Array[Int](if (starts.isEmpty) 0 else Integer.highestOneBit(starts.size * 2 - 1) * 2)
    starts.foreach { start =>
      var slot = hashAt(start) & (table.length - 1)
      while (table(slot) != 0) slot = (slot + 1) & (table.length - 1)
      table(slot) = start + 1
    }
    table
  }

  def isEmpty: Boolean = ordered.isEmpty

  def heapBytes: Long = HeapBytes.array(ordered.length, 8) + HeapBytes.array(slots.length, 4)

  /** The rows that refer to a data file, ascending. */
  def of(path: String): Array[Int] =
    if (isEmpty) NoRows
    else {
      val hash = spread(path)
      startOf(hash) match {
        case Absent => NoRows
        case start  => among(start, hash, path)
      }
    }

  private def startOf(hash: Int): Int = {
    var slot = hash & (slots.length - 1)
    while (slots(slot) != 0 && hashAt(slots(slot) - 1) != hash) slot = (slot + 1) & (slots.length - 1)
    slots(slot) - 1
  }

  private def among(start: Int, hash: Int, path: String): Array[Int] = {
    var end = start
    while (end < ordered.length && hashAt(end) == hash) end += 1
    val found = new Array[Int](end - start)
    var count = 0
    var lastBound: Array[Byte] = null
    var i = start
    while (i < end) {
      val delete = deletes(ordered(i).toInt)
      // equal bounds share one array, so comparing references suffices for all but the first
      val bound = delete.provingBound
      val isSame = (bound != null && (bound eq lastBound)) || delete.dataFile.contains(path)
      if (isSame) {
        lastBound = bound
        found(count) = ordered(i).toInt
        count += 1
      }
      i += 1
    }
    if (count == found.length) found else Arrays.copyOf(found, count)
  }

  private def hashAt(place: Int): Int = (ordered(place) >>> 32).toInt
}

private object PathRows {
  private val Absent = -1
  private val NoRows = new Array[Int](0)

  private def spread(path: String): Int = {
    val hash = path.hashCode * 0x9e3779b9
    hash ^ (hash >>> 16)
  }
}
