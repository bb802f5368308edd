// SPDX-License-Identifier: Apache-2.0
package zonemap.core.value

import java.nio.ByteBuffer

/**
 * The two orders of uuids. Writers compare them either as unsigned bytes (the order of [[ZoneValue]]) or, as Java does,
 * as two signed longs; bounds do not record the order. So bounds prove that a uuid is outside only if it is outside in
 * both orders.
 */
private[zonemap] object UuidOrder {

  /**
   * True if bounds can prove anything: both are present, and the lower is not above the upper in either order. The
   * least of several lower bounds in one order need not be the least in the other order. For pairs that pass this test
   * the difference has no effect: both bounds of such a pair have the same sign, because bounds with different signs
   * are out of order as signed longs.
   */
  def usable(lower: ZoneValue, upper: ZoneValue): Boolean =
    lower != null && upper != null && lower.compare(upper) <= 0 && signed.lteq(lower, upper)

  /** Compares values as two signed longs, most significant first; values of another length as unsigned bytes. */
  val signed: Ordering[ZoneValue] = (x, y) =>
    (x, y) match {
      case (BytesValue(left), BytesValue(right)) if left.length == 16 && right.length == 16 =>
        val a = ByteBuffer.wrap(left)
        val b = ByteBuffer.wrap(right)
        val high = java.lang.Long.compare(a.getLong(0), b.getLong(0))
        if (high != 0) high else java.lang.Long.compare(a.getLong(8), b.getLong(8))
      case _ => x.compare(y)
    }
}
