package zonemap.iceberg.layout

import zonemap.core.fact.{BlockBloom, FactFile}
import zonemap.iceberg.prune.FileSet

/** A limit of the size of a bloom filter fact, from the numbers of rows of the files. It reads no row. */
private[zonemap] object BloomEstimate {

  /** The largest share of the files without a value that the filter keeps for it. */
  val FalsePositives: Double = BlockBloom.FalsePositives

  /**
   * The largest number of bytes that the fact of these files takes: that of a column without equal values. The fact of
   * a column with equal values is smaller.
   */
  def mostBytes(files: FileSet): Long = {
    var bytes = 0L
    files.foreachSegment { (segment, rows) =>
      rows.forEach(row => bytes += FactFile.EntryBytes + HeadBytes + BlockBloom.mostBytes(segment.recordCount(row)))
    }
    bytes
  }

  /** The head of a fact file; at most one for each data file. */
  private val HeadBytes = 100L
}
