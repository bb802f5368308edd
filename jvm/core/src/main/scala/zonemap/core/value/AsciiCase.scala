// SPDX-License-Identifier: Apache-2.0
package zonemap.core.value

/** The two cases of the letters from A to Z; every other byte has one. */
private[zonemap] object AsciiCase {

  def isLetter(byte: Byte): Boolean = 'a' <= lowered(byte) && lowered(byte) <= 'z'

  def lower(byte: Byte): Byte = if (isLetter(byte)) lowered(byte) else byte

  def upper(byte: Byte): Byte = if (isLetter(byte)) (byte & ~Bit).toByte else byte

  def lower(bytes: Array[Byte]): Array[Byte] = bytes.map(byte => lower(byte))

  /** The bit in which the cases of a letter differ. */
  private val Bit = 0x20

  private def lowered(byte: Byte): Byte = (byte | Bit).toByte
}
