package zonemap.core.segment

import zonemap.core.io.CorruptIndexException

/**
 * How a data file was added to its table. The provenance limits which proofs the file's bounds allow. The codes are
 * stored.
 */
sealed abstract private[zonemap] class Provenance(val code: Byte)

private[zonemap] object Provenance {

  /** The writer is not known: bounds are valid, but need not be the least and greatest value of the file. */
  case object Unknown extends Provenance(0)

  /**
   * The Iceberg writer of a query engine wrote the file, with field ids: bounds of fixed-width Parquet values are the
   * least and greatest value.
   */
  case object Engine extends Provenance(1)

  /**
   * The file may lack field ids, because the table resolved columns by a name mapping when the file was indexed.
   * Readers may return other values than the values that the bounds and counts describe.
   */
  case object Imported extends Provenance(2)

  private val byCode: Array[Provenance] = Array(Unknown, Engine, Imported)

  def ofCode(code: Byte): Provenance =
    if (code >= 0 && code < byCode.length) byCode(code)
    else throw new CorruptIndexException(s"Damaged: a provenance of $code")
}
