package zonemap.core.value

import java.nio.ByteBuffer

/**
 * The two orders of uuids. Writers compare them either as unsigned bytes (the order of [[ZoneValue]]) or, as Java does,
 * as two signed longs; bounds do not say which. So a uuid is outside bounds only if it is outside under both.
 */
private[zonemap] object UuidOrder {

  /**
   * Whether bounds say something: both are there, in order both ways. The least of several lower bounds by one order
   * need not be the least by the other; only pairs in order both ways keep that from mattering, since both of a pair
   * then have one sign, and bounds over both signs are out of order as signed longs.
   */
  def usable(lower: ZoneValue, upper: ZoneValue): Boolean =
    lower != null && upper != null && lower.compare(upper) <= 0 && signed.lteq(lower, upper)

  /** Two signed longs, most significant first. Values of another length compare as unsigned bytes. */
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
