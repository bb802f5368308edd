// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

/**
 * The exact bounds of a column of longs, as numbers, for bounds that lie between two boundaries. Reading one allocates
 * no object. The code passed must be the code of the bound that is read. For an absent bound, the returned number is
 * arbitrary.
 */
private[column] trait ExactLongs {
  def lower(row: Int, lowerCode: Int): Long

  /** @param lower the result of `lower` for the row */
  def upper(row: Int, lower: Long, upperCode: Int): Long

  /** Sets `lowers` and `uppers` of `rows`, which must be rows of one block. */
  def read(rows: ExactRows): Unit = {
    var i = 0
    while (i < rows.size) {
      rows.lowers(i) = lower(rows.rows(i), rows.lowerCodes(i).toInt)
      rows.uppers(i) = upper(rows.rows(i), rows.lowers(i), rows.upperCodes(i).toInt)
      i += 1
    }
  }

  /** As `read`, but as distances from the [[LongDictionary.floor]] of the row's lower code. */
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

/** Rows of one block whose exact bounds are read. Not thread-safe. */
final private[core] class ExactRows(capacity: Int) {
  var size = 0
  val rows = new Array[Int](capacity)
  val lowerCodes = new Array[Char](capacity)
  val upperCodes = new Array[Char](capacity)
  val flags = new Array[Byte](capacity)
  val lowers = new Array[Long](capacity)
  val uppers = new Array[Long](capacity)

  /** Whether the exact bounds of a row prove the property that is checked. */
  val proven = new Array[Boolean](capacity)
}

/**
 * Reads bounds as numbers, given the codes of their row. Belongs to one evaluation; not thread-safe.
 *
 * @param exact null if codes are exact
 */
final private[core] class LongBounds private[core] (dictionary: LongDictionary, exact: ExactLongs) {

  def lower(row: Int, lowerCode: Int): Long =
    if (Dictionary.isExact(lowerCode)) dictionary.number(Dictionary.ordinal(lowerCode))
    else if (exact == null) 0L
    else exact.lower(row, lowerCode)

  /** @param lower the result of `lower` for the row */
  def upper(row: Int, lower: Long, upperCode: Int): Long =
    if (upperCode == Dictionary.NoUpper) 0L
    else if (Dictionary.isExact(upperCode)) dictionary.number(Dictionary.ordinal(upperCode))
    else exact.upper(row, lower, upperCode)

  /**
   * Sets `lowers` and `uppers` of `rows`, which must be rows of one block. The codes of the column must not be exact.
   */
  def read(rows: ExactRows): Unit = exact.read(rows)

  /** As `read`, but as distances from the [[LongDictionary.floor]] of the row's lower code. */
  def readDistances(rows: ExactRows): Unit = exact.readDistances(rows, dictionary)
}
