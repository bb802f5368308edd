// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.record

import java.security.SecureRandom

/** Random names of 16 hexadecimal digits, which keep the files of two writers apart. */
private[zonemap] object Nonce {
  val Pattern = "[0-9a-f]{16}"

  val Length = 16

  def isNonce(text: String): Boolean = text.length == Length && text.forall(isDigit)

  /** Whether the character may be in a nonce. */
  def isDigit(c: Char): Boolean = Digits.isDigit(c) || (c >= 'a' && c <= 'f')

  def draw(): String = f"${new SecureRandom().nextLong()}%016x"
}
