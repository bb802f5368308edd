// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.shadow

import org.apache.iceberg.Table

import zonemap.core.column.{ColumnBounds, ColumnSpec}
import zonemap.core.io.ByteSource
import zonemap.core.segment.{Segment, SegmentBuilder, SegmentMerger}
import zonemap.core.value.LongValue
import zonemap.iceberg.snapshot.{LiveSegment, SegmentOrigin, SnapshotIndex, SnapshotKey}
import zonemap.iceberg.store.Level
import zonemap.spark.SharedSession

/** Replaces the index of a table by a wrong one, which has the same files with different bounds or row counts. */
private[zonemap] object WrongIndex {

  /**
   * @param moved the amount added to the bounds of field 1, a BIGINT
   * @param rows the factor by which the row count of every file is multiplied
   */
  def put(table: Table, moved: Long = 0, rows: Long = 1): Unit = {
    val index = SharedSession.runtime.process.iceberg.index.tables.of(table)
    val right = index.get(SnapshotKey.of(table.currentSnapshot())).get
    val wrong = right.segments.map { live =>
      val bytes = copy(live.segment, moved, rows)
      val origin = SegmentOrigin.inMemory(ByteSource.ofBytes(bytes), Level.Micro, None)
      new LiveSegment(Segment.open(bytes), origin, live.liveManifests)
    }
    index.put(new SnapshotIndex(right.key, right.sequenceNumber, wrong, right.deletes))
  }

  private def copy(segment: Segment, moved: Long, rows: Long): Array[Byte] = {
    val columns = segment.columnIds.toSeq.sorted.map(id => segment.column(id).get -> id)
    val builder = new SegmentBuilder(columns.map { case (column, id) => ColumnSpec(id, column.columnType) })
    val partitions = segment.partitions.map(p => builder.partition(p.specId, p.values))
    val paths = segment.newPathReader()
    segment.manifests.foreach { manifest =>
      builder.beginManifest(manifest.identity)
      (manifest.firstRow until manifest.firstRow + manifest.rowCount).foreach { row =>
        val bounds = columns.map {
          case (column, 1) => shifted(column.bounds(row), moved)
          case (column, _) => column.bounds(row)
        }
        val file = SegmentMerger.file(segment, paths, partitions(segment.partitionOrdinal(row)), row)
        builder.add(file.copy(recordCount = file.recordCount * rows), bounds.toArray)
      }
    }
    builder.build()
  }

  private def shifted(bounds: ColumnBounds, by: Long): ColumnBounds =
    (bounds.lower, bounds.upper) match {
      case (LongValue(lower), LongValue(upper)) =>
        bounds.copy(lower = LongValue(lower + by), upper = LongValue(upper + by))
      case _ => bounds
    }
}
