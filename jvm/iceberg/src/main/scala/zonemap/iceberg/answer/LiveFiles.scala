// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.answer

import org.apache.iceberg.FileContent

import zonemap.core.segment.PartitionTuple
import zonemap.iceberg.snapshot.{LiveDeleteSegment, LiveSegment, SnapshotIndex}

/** The live files of one segment, which are data files or delete files, by the rows of the segment. For one thread. */
private[answer] sealed trait LiveFiles {

  /** At least the partitions of the files. */
  def partitions: IndexedSeq[PartitionTuple]

  def foreach(use: Int => Unit): Unit
  def partition(row: Int): Int
  def content(row: Int): FileContent
  def path(row: Int): String
  def format(row: Int): String
  def recordCount(row: Int): Long
  def sizeBytes(row: Int): Long
  def sortOrderId(row: Int): Integer

  /** The sequence number of the snapshot that added the file; 0 if it was added by format version 1. */
  def sequenceNumber(row: Int): Long
}

private[answer] object LiveFiles {

  /** The live files that the rows of a metadata table are about. */
  def of(index: SnapshotIndex, table: MetadataTable): Seq[LiveFiles] =
    (if (table.hasData) index.segments.map(new LiveDataFiles(_)) else Nil) ++
      (if (table.hasDeletes) index.deletes.segments.map(new LiveDeleteFiles(_)) else Nil)

  /** The number of these files. */
  def count(index: SnapshotIndex, table: MetadataTable): Long =
    (if (table.hasData) index.dataFiles else 0L) + (if (table.hasDeletes) index.deletes.count.toLong else 0L)

  private final class LiveDataFiles(live: LiveSegment) extends LiveFiles {
    private val segment = live.segment
    private lazy val paths = segment.newPathReader()

    override def partitions: IndexedSeq[PartitionTuple] = segment.partitions
    override def foreach(use: Int => Unit): Unit = {
      val rows = live.liveRows()
      var row = rows.nextSetBit(0)
      while (row >= 0) {
        use(row)
        row = rows.nextSetBit(row + 1)
      }
    }
    override def partition(row: Int): Int = segment.partitionOrdinal(row)
    override def content(row: Int): FileContent = FileContent.DATA
    override def path(row: Int): String = paths.path(row)
    override def format(row: Int): String = segment.format(row)
    override def recordCount(row: Int): Long = segment.recordCount(row)
    override def sizeBytes(row: Int): Long = segment.fileSizeBytes(row)
    override def sortOrderId(row: Int): Integer = segment.sortOrderId(row)
    override def sequenceNumber(row: Int): Long = segment.fileSequenceNumber(row)
  }

  private final class LiveDeleteFiles(live: LiveDeleteSegment) extends LiveFiles {
    private val segment = live.segment

    override def partitions: IndexedSeq[PartitionTuple] = segment.partitions
    override def foreach(use: Int => Unit): Unit = live.live(Array.range(0, segment.rows)).foreach(use)
    override def partition(row: Int): Int = segment.files(row).partition
    override def content(row: Int): FileContent = FileContent.values().find(_.id == segment.files(row).content).get
    override def path(row: Int): String = segment.files(row).path
    override def format(row: Int): String = segment.files(row).format
    override def recordCount(row: Int): Long = segment.files(row).recordCount
    override def sizeBytes(row: Int): Long = segment.files(row).fileSizeBytes
    override def sortOrderId(row: Int): Integer = segment.files(row).sortOrderId
    override def sequenceNumber(row: Int): Long = segment.files(row).fileSequenceNumber
  }
}
