package zonemap.core.segment

/** The blocks of rows that have zones of their own, and whose codes and exact bounds are stored together. */
private[core] object Blocks {

  /** Rows per block; the last block of a segment may have fewer. */
  val BlockRows = 1024

  /** How many blocks so many rows are. */
  def count(rows: Int): Int = (rows + BlockRows - 1) / BlockRows
}
