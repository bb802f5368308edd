// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.snapshot

import zonemap.core.column.Bitmap
import zonemap.core.segment.SegmentManifest

private[snapshot] object LiveRows {

  /**
   * A new bitmap of the rows of some manifests of a segment.
   *
   * @param rows the number of rows of the segment
   * @param manifests the manifests of the segment
   * @param live the ordinals of the manifests whose rows are set
   */
  def of(rows: Int, manifests: IndexedSeq[SegmentManifest], live: Array[Int]): Bitmap = {
    val found = Bitmap.empty(rows)
    live.foreach { ordinal =>
      val manifest = manifests(ordinal)
      found.setRange(manifest.firstRow, manifest.firstRow + manifest.rowCount)
    }
    found
  }
}
