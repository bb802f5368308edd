// SPDX-License-Identifier: Apache-2.0
package zonemap.core.value

/**
 * Recognises texts that do not have the bytes of the value that they stand for.
 *
 * Iceberg makes bounds and literals of strings through Java strings, in which U+FFFD replaces each malformed sequence
 * of bytes, while rows keep their bytes. The replacement sorts above malformed sequences that begin with 80 to EE, and
 * below those that begin with F0 to FF. A text that truly holds U+FFFD cannot be told from a replaced one.
 */
private[zonemap] object ReplacedText {

  /** Whether a text contains U+FFFD. */
  def isIn(text: BytesValue): Boolean = occursIn(text.bytes, Last)

  /**
   * Whether a bound of a string column may lie on the wrong side of a value. Beside U+FFFD, that is U+FFFE at the end:
   * a writer that cuts an upper bound behind a replaced sequence increments its last character.
   */
  def isInBound(bound: ZoneValue): Boolean = bound match {
    case text: BytesValue => isIn(text) || endsWith(text.bytes, Incremented)
    case _                => false
  }

  // U+FFFD and U+FFFE in UTF-8 differ in the third byte
  private val First = 0xef.toByte
  private val Second = 0xbf.toByte
  private val Last = 0xbd.toByte
  private val Incremented = 0xbe.toByte

  private def occursIn(bytes: Array[Byte], last: Byte): Boolean = {
    var i = 0
    while (i + 2 < bytes.length && !isAt(bytes, i, last)) i += 1
    i + 2 < bytes.length
  }

  private def endsWith(bytes: Array[Byte], last: Byte): Boolean =
    bytes.length >= 3 && isAt(bytes, bytes.length - 3, last)

  private def isAt(bytes: Array[Byte], at: Int, last: Byte): Boolean =
    bytes(at) == First && bytes(at + 1) == Second && bytes(at + 2) == last
}
