// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import zonemap.core.column.{BoundsHead, ColumnDetail}
import zonemap.core.container.{Container, ContainerReader, SectionKind}
import zonemap.core.io.ByteSource

/** Reads the encoding of a column from the bytes of a segment. */
private[segment] object StoredColumn {

  /** The number of stored bytes of the sections of a column; 0 if the column is not indexed. */
  def bytes(segment: Array[Byte], fieldId: Int): Long = {
    val container = open(segment)
    // The ids of fixed arrays are slots, not field ids.
    val keys = container.keys.filter(key => key.id == fieldId && key.kind != SectionKind.Fixed)
    keys.map(container.length(_).toLong).sum
  }

  /** Whether the bounds of the column are rounded outward. */
  def isCoarse(segment: Array[Byte], fieldId: Int): Boolean =
    BoundsHead.read(open(segment), fieldId, Segment.open(segment).rows).detail == ColumnDetail.Coarse

  private def open(segment: Array[Byte]) = ContainerReader.open(ByteSource.ofBytes(segment), Container.KindData)
}
