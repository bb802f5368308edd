package zonemap.core.segment

/**
 * The bounds of a column of longs that lie between two boundaries, as numbers: no object a value. A code is the one of
 * the row's own bound. Of a bound that is absent the number means nothing.
 */
private[segment] trait ExactLongs {
  def lower(row: Int, lowerCode: Int): Long

  /** @param lower what `lower` gives for the row */
  def upper(row: Int, lower: Long, upperCode: Int): Long

  /** Fills in the bounds of rows of one block. */
  def read(rows: ExactRows): Unit = {
    var i = 0
    while (i < rows.size) {
      rows.lowers(i) = lower(rows.rows(i), rows.lowerCodes(i).toInt)
      rows.uppers(i) = upper(rows.rows(i), rows.lowers(i), rows.upperCodes(i).toInt)
      i += 1
    }
  }

  /** As `read`, from the [[LongDictionary.floor]] of the row's lower code on. */
  def readDistances(rows: ExactRows, dictionary: LongDictionary): Unit = {
    read(rows)
    var i = 0
    while (i < rows.size) {
      val floor = dictionary.floor(rows.lowerCodes(i).toInt)
      rows.lowers(i) -= floor
      rows.uppers(i) -= floor
      i += 1
    }
  }
}

/** Rows of one block that are asked for their exact bounds. Not thread-safe. */
final private[core] class ExactRows(capacity: Int) {
  var size = 0
  val rows = new Array[Int](capacity)
  val lowerCodes = new Array[Char](capacity)
  val upperCodes = new Array[Char](capacity)
  val flags = new Array[Byte](capacity)
  val lowers = new Array[Long](capacity)
  val uppers = new Array[Long](capacity)

  /** What is found of them. */
  val proven = new Array[Boolean](capacity)
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

  /** Fills in the bounds of rows of one block, of a column whose codes are not exact. */
  def read(rows: ExactRows): Unit = exact.read(rows)

  /** As `read`, from the [[LongDictionary.floor]] of the row's lower code on. */
  def readDistances(rows: ExactRows): Unit = exact.readDistances(rows, dictionary)
}
