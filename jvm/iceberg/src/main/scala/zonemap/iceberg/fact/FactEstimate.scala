// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.fact

import java.util.Arrays

import zonemap.core.fact.FactFile

/**
 * Estimates the bytes of one fact in the store from the data files whose facts are known.
 *
 * The fact of a file is estimated from the known files with the next smaller and the next larger number of rows. The
 * estimate therefore holds for facts that grow with the rows, such as bloom filters, and for facts that do not.
 */
private[fact] final class FactEstimate(request: FactRequest, known: Seq[(FactInput, Int)]) {
  private val points = known
    .groupMap(_._1.rows)(_._2.toLong)
    .toVector
    .map { case (rows, bytes) => (rows, bytes.sum.toDouble / bytes.size) }
    .sortBy(_._1)
  private val rows = points.map(_._1).toArray
  private val bytes = points.map(_._2).toArray

  /** Returns the bytes of the fact files for `files`; `known` must not be empty unless `files` is. */
  def of(files: Seq[FactInput]): Long =
    if (files.isEmpty) 0L
    else {
      val entries = files.iterator.map(file => FactFile.EntryBytes + ofFile(file.rows)).sum
      val heads = (entries / FactJoins.SmallBytes).ceil.max(1.0)
      (entries + heads * FactFile.encode(request.kind, request.column, request.columnType, Nil).length).round
    }

  private def ofFile(count: Long): Double = {
    val found = Arrays.binarySearch(rows, count)
    val above = -found - 1
    if (found >= 0) bytes(found)
    else if (above == 0) bytes.head
    else if (above == rows.length) bytes.last
    else {
      val below = above - 1
      val part = (count - rows(below)).toDouble / (rows(above) - rows(below))
      bytes(below) + part * (bytes(above) - bytes(below))
    }
  }
}
