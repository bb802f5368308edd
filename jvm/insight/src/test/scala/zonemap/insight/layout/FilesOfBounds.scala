// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.layout

import org.apache.iceberg.PartitionSpec

import zonemap.core.column.{Bitmap, ColumnBounds, ColumnSpec}
import zonemap.core.segment.{FileEntry, ManifestIdentity, Provenance, Segment, SegmentBuilder}
import zonemap.core.value.ColumnType
import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.snapshot.TableFacts
import zonemap.iceberg.trust.BoundsTrust

/** Makes files of one segment with given bounds. */
private[layout] object FilesOfBounds {
  private val RowsOfFile = 1000

  /** @param bounds the bounds of a file in each of the columns, whose field ids are 1, 2, ... */
  def of(types: Seq[ColumnType], files: Int)(bounds: Int => Seq[ColumnBounds]): FileSet = {
    val builder = new SegmentBuilder(types.zipWithIndex.map { case (columnType, i) => ColumnSpec(i + 1, columnType) })
    builder.beginManifest(ManifestIdentity("m", 1, 0, 0, 1, 1, 1L, null, files, 0, 0, null, null, null))
    val partition = builder.partition(0, Array.empty)
    (0 until files).foreach { i =>
      val path = s"s3://lake/t/$i.parquet"
      val entry =
        FileEntry(path, "PARQUET", 100000, RowsOfFile, partition, 1, 1, null, null, null, Provenance.Engine)
      builder.add(entry, bounds(i).toArray)
    }
    val segment = Segment.open(builder.build())
    val trust = new BoundsTrust(new TableFacts(0, Nil, null), _ => Some(PartitionSpec.unpartitioned()), _ => None)
    new FileSet(IndexedSeq(segment -> Bitmap.full(files)), trust)
  }
}
