// SPDX-License-Identifier: Apache-2.0
package zonemap.core.value

import java.nio.charset.StandardCharsets
import java.util.Arrays

/**
 * One non-null, non-NaN value of a column in its order-preserving encoding ([[Encoding]]). Values of one column are
 * totally ordered by `compare`; equality agrees with it. Immutable by contract: the bytes are not copied, and callers
 * must not change them. [[ZoneValues]] creates values.
 */
sealed private[zonemap] trait ZoneValue extends Ordered[ZoneValue] {

  /** Heap or file bytes of the payload; for sizing only. */
  def sizeBytes: Int

  /** Returns an equal value that owns a copy of its bytes. */
  def copied: ZoneValue
}

final private[zonemap] case class LongValue(v: Long) extends ZoneValue {
  override def sizeBytes: Int = java.lang.Long.BYTES
  override def copied: ZoneValue = this

  override def compare(that: ZoneValue): Int = that match {
    case LongValue(other) => java.lang.Long.compare(v, other)
    case _: BytesValue    => -1
  }
}

final private[zonemap] case class BytesValue(bytes: Array[Byte]) extends ZoneValue {
  override def sizeBytes: Int = bytes.length
  override def copied: ZoneValue = BytesValue(bytes.clone())

  override def compare(that: ZoneValue): Int = that match {
    case BytesValue(other) => Arrays.compareUnsigned(bytes, other)
    case _: LongValue      => 1
  }

  def startsWith(prefix: BytesValue): Boolean =
    bytes.length >= prefix.bytes.length &&
      Arrays.equals(bytes, 0, prefix.bytes.length, prefix.bytes, 0, prefix.bytes.length)

  /**
   * Returns the least byte string above every byte string that starts with this one; None if this one is empty or all
   * 0xFF. The result need not be valid UTF-8.
   */
  def prefixSuccessor: Option[BytesValue] = {
    val last = bytes.lastIndexWhere(_ != -1)
    if (last < 0) None
    else {
      val next = Arrays.copyOf(bytes, last + 1)
      next(last) = (next(last) + 1).toByte
      Some(BytesValue(next))
    }
  }

  def utf8: String = new String(bytes, StandardCharsets.UTF_8)

  override def equals(other: Any): Boolean = other match {
    case BytesValue(that) => Arrays.equals(bytes, that)
    case _                => false
  }

  override def hashCode: Int = Arrays.hashCode(bytes)

  override def toString: String = s"BytesValue(${java.util.HexFormat.of().formatHex(bytes)})"
}
