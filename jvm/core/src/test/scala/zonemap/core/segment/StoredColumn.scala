package zonemap.core.segment

import zonemap.core.column.{BoundsHead, ColumnDetail}
import zonemap.core.container.{Container, ContainerReader, SectionKind}
import zonemap.core.io.ByteSource

/** How a column is stored in the bytes of a segment. */
private[segment] object StoredColumn {

  /** Stored bytes of the sections of a column; 0 when it is not indexed. */
  def bytes(segment: Array[Byte], fieldId: Int): Long = {
    val container = open(segment)
    // the ids of fixed arrays are slots
    val keys = container.keys.filter(key => key.id == fieldId && key.kind != SectionKind.Fixed)
    keys.map(container.length(_).toLong).sum
  }

  /** Whether its bounds are rounded outward. */
  def isCoarse(segment: Array[Byte], fieldId: Int): Boolean =
    BoundsHead.read(open(segment), fieldId, Segment.open(segment).rows).detail == ColumnDetail.Coarse

  private def open(segment: Array[Byte]) = ContainerReader.open(ByteSource.ofBytes(segment), Container.KindData)
}
