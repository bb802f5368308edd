package zonemap.core.segment

/**
 * The bounds of a column of longs that lie between two boundaries, as numbers: no object a value. A code is the one of
 * the row's own bound. Of a bound that is absent the number means nothing.
 */
private[segment] trait ExactLongs {
  def lower(row: Int, lowerCode: Int): Long

  /** @param lower what `lower` gives for the row */
  def upper(row: Int, lower: Long, upperCode: Int): Long
}

/**
 * Bounds as numbers, by the codes of their row. Belongs to one evaluation; not thread-safe.
 *
 * @param exact null where codes are exact
 */
final private[core] class LongBounds private[segment] (dictionary: LongDictionary, exact: ExactLongs) {

  def lower(row: Int, lowerCode: Int): Long =
    if (Dictionary.isExact(lowerCode)) dictionary.number(Dictionary.ordinal(lowerCode))
    else if (exact == null) 0L
    else exact.lower(row, lowerCode)

  /** @param lower what `lower` gives for the row */
  def upper(row: Int, lower: Long, upperCode: Int): Long =
    if (upperCode == Dictionary.NoUpper) 0L
    else if (Dictionary.isExact(upperCode)) dictionary.number(Dictionary.ordinal(upperCode))
    else exact.upper(row, lower, upperCode)
}
