// SPDX-License-Identifier: Apache-2.0
package zonemap.core.io

/**
 * Estimates the heap size of objects, for a JVM whose references have four bytes (heaps below 32 GB). Object headers
 * have 12 bytes, array headers have 16, and all sizes are multiples of eight. Small boxed integers count as 0, because
 * the JVM shares them.
 */
private[zonemap] object HeapBytes {
  val Reference = 4
  private val Header = 12
  private val ArrayHeader = 16
  private val Latin1End = 256
  private val LeafLength = 32

  /** The size of an object with `fieldBytes` bytes of fields. */
  def instance(fieldBytes: Int): Long = aligned(Header.toLong + fieldBytes)

  def array(length: Int, elementBytes: Int): Long = aligned(ArrayHeader + length.toLong * elementBytes)

  /** The size of a bitmap of `rows` rows. */
  def bitmap(rows: Int): Long = instance(Reference + Integer.BYTES) + array((rows + 63) / 64, java.lang.Long.BYTES)

  /** The size of a vector or another sequence of references, without its elements. */
  def sequence(length: Int): Long =
    if (length == 0) 0
    else if (length <= LeafLength) 16 + array(length, Reference)
    else 56 + array(length, Reference) + (length / LeafLength + 1) * array(1, Reference)

  /** The size of a hash map of `entries` entries, without keys and values. */
  def hashMap(entries: Int): Long = 64 + entries * 40L

  def text(text: String): Long = if (text == null) 0 else instance(12) + array(text.length, charBytes(text))

  def boxed(value: AnyRef): Long = value match {
    case null                               => 0
    case number: Number if isShared(number) => 0
    case _: java.lang.Long                  => instance(8)
    case _: java.lang.Double                => instance(8)
    case text: String                       => HeapBytes.text(text)
    case bytes: Array[Byte]                 => array(bytes.length, 1)
    case _: java.util.UUID                  => instance(16)
    case decimal: java.math.BigDecimal      => 104L + decimal.unscaledValue.bitLength / 8
    case _                                  => instance(4)
  }

  private def isShared(number: Number): Boolean =
    (number.isInstanceOf[Integer] || number.isInstanceOf[java.lang.Long]) && number.longValue.toByte == number.longValue

  private def charBytes(text: String): Int = {
    var i = 0
    while (i < text.length && text.charAt(i) < Latin1End) i += 1
    if (i == text.length) 1 else 2
  }

  private def aligned(bytes: Long): Long = (bytes + 7) & ~7L
}
