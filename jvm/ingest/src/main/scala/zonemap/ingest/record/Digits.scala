// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.record

/** Numbers in names of files: ASCII digits in every locale, so that names sort by number. */
private[zonemap] object Digits {

  /** The digits of [[of]]: as many as the greatest number has, and one more. */
  val Width = 20

  /** A number of at least 0 with 20 digits. */
  def of(number: Long): String = {
    require(number >= 0, s"Cannot name a file by the number $number: it is negative. Count from 0.")
    padded(java.lang.Long.toString(number), Width)
  }

  /** A number of at most 32 bits with 8 lower-case hexadecimal digits. */
  def hex8(number: Long): String = padded(java.lang.Long.toHexString(number), 8)

  def isDigit(c: Char): Boolean = c >= '0' && c <= '9'

  private def padded(digits: String, width: Int): String = {
    val text = new java.lang.StringBuilder(width)
    while (text.length < width - digits.length) text.append('0')
    text.append(digits).toString
  }
}
