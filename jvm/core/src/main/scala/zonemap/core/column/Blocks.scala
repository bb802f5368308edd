// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

/** Blocks of consecutive rows. Each block has a zone of its own, and its codes and exact bounds are stored together. */
private[core] object Blocks {

  /** The number of rows of a block; the last block of a segment may have fewer. */
  val BlockRows = 1024

  /** The number of blocks of a segment with `rows` rows. */
  def count(rows: Int): Int = (rows + BlockRows - 1) / BlockRows
}
