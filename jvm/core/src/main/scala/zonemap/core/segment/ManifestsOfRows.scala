// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

/** Finds the manifest that lists a row of a segment; fast for rows in ascending order. Not thread-safe. */
private[zonemap] final class ManifestsOfRows(manifests: IndexedSeq[SegmentManifest]) {
  private var from = 0
  private var until = 0
  private var location: String = _

  /** The location of the manifest of a row; null if the segment names none. */
  def locationOf(row: Int): String = {
    if (row < from || row >= until) find(row)
    location
  }

  private def find(row: Int): Unit = {
    var low = 0
    var high = manifests.size
    while (low < high) {
      val middle = (low + high) >>> 1
      if (manifests(middle).firstRow <= row) low = middle + 1 else high = middle
    }
    val found = if (low == 0) None else Some(manifests(low - 1)).filter(m => row < m.firstRow + m.rowCount)
    from = found.fold(row)(_.firstRow)
    until = found.fold(row + 1)(m => m.firstRow + m.rowCount)
    location = found.map(_.identity.path).orNull
  }
}
