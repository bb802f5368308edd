// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import zonemap.core.io.CorruptIndexException

/**
 * The evidence for the statistics of a data file: its record count, and the counts and bounds of its columns. It limits
 * which proofs they allow. The codes are stored.
 *
 * @param isProven whether the statistics are those of the rows that readers return, so that proofs may use them
 * @param areExtremes whether bounds of fixed-width Parquet values are the least and the greatest value
 * @param byName whether readers find the columns of the file by names, so that the evidence holds for these names only
 */
sealed abstract private[zonemap] class Provenance(
    val code: Byte,
    val isProven: Boolean,
    val areExtremes: Boolean,
    val byName: Boolean)

private[zonemap] object Provenance {

  /** No evidence: the writer is not known. */
  case object Unknown extends Provenance(0, isProven = false, areExtremes = false, byName = false)

  /** The Iceberg writer of a query engine wrote the file, with field ids. */
  case object Engine extends Provenance(1, isProven = true, areExtremes = true, byName = false)

  /**
   * No evidence: the file may lack field ids, because the table resolved columns by a name mapping when the file was
   * indexed. Segments of earlier releases have this code.
   */
  case object Imported extends Provenance(2, isProven = false, areExtremes = false, byName = false)

  /** The statistics are valid: append ingestion added the file, or the file's footer agrees with them. */
  case object Valid extends Provenance(3, isProven = true, areExtremes = false, byName = false)

  /** The footer agrees with the statistics, and its writer states extremes. */
  case object Footer extends Provenance(4, isProven = true, areExtremes = true, byName = false)

  /** As [[Footer]], for a file without field ids. */
  case object FooterByName extends Provenance(5, isProven = true, areExtremes = true, byName = true)

  /** As [[Valid]], for a file without field ids. */
  case object ValidByName extends Provenance(6, isProven = true, areExtremes = false, byName = true)

  /** No evidence: the footer does not agree with the record count, or holds nothing to compare. */
  case object Refuted extends Provenance(7, isProven = false, areExtremes = false, byName = false)

  private val byCode: Array[Provenance] =
    Array(Unknown, Engine, Imported, Valid, Footer, FooterByName, ValidByName, Refuted)

  def ofCode(code: Byte): Provenance =
    if (code >= 0 && code < byCode.length) byCode(code)
    else throw new CorruptIndexException(s"Damaged: a provenance of $code")
}
