package zonemap.core.segment

/** How a data file came into its table, which decides what its bounds may be believed for. The codes are stored. */
sealed abstract private[zonemap] class Provenance(val code: Byte)

private[zonemap] object Provenance {

  /** The writer is not known: bounds are valid, and need not be extremes. */
  case object Unknown extends Provenance(0)

  /** Written with field ids by the Iceberg writer of a query engine: bounds of fixed-width Parquet values are extremes. */
  case object Engine extends Provenance(1)

  /**
   * The file may lack field ids: the table resolved columns by a name mapping when the file was indexed. Bounds and counts
   * may be those of other values than readers return.
   */
  case object Imported extends Provenance(2)

  private val byCode: Array[Provenance] = Array(Unknown, Engine, Imported)

  def ofCode(code: Byte): Provenance =
    if (code >= 0 && code < byCode.length) byCode(code)
    else throw new CorruptIndexException(s"Damaged: a provenance of $code")
}
