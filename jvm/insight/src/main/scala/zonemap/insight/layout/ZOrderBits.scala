package zonemap.insight.layout

import zonemap.core.value._

/**
 * The 8 bytes of a value that Iceberg interleaves for a Z-order, as an unsigned number. The first differing bit of any
 * column decides an order, so a column of small numbers follows a column of large ones.
 */
private[layout] object ZOrderBits {
  private val MicrosOfSecond = 1000000L
  private val HalfOfBytes = 9.223372036854775807e18

  def supports(columnType: ColumnType): Boolean =
    columnType match {
      case BooleanType | IntType | LongType | DateType | TimestampType | TimestampTzType => true
      case FloatType | DoubleType | StringType | BinaryType                              => true
      case _                                                                             => false
    }

  /** @param place the place of the value on the scale */
  def of(columnType: ColumnType, scale: ValueScale, place: Double): Long =
    columnType match {
      case FloatType | DoubleType =>
        val bits = java.lang.Double.doubleToLongBits(place)
        bits ^ ((bits >> (java.lang.Long.SIZE - 1)) | Long.MinValue)
      case BooleanType             => if (place > 0) 0x81L << 56 else 0L
      case StringType | BinaryType => if (scale.sharedBytes >= 8) 0L else unsigned(place) >>> (8 * scale.sharedBytes)
      case TimestampTzType         => Math.floorDiv(place.toLong, MicrosOfSecond) ^ Long.MinValue
      case _                       => place.toLong ^ Long.MinValue
    }

  private def unsigned(place: Double): Long =
    if (place >= HalfOfBytes) (place - HalfOfBytes).toLong ^ Long.MinValue else place.toLong

  /** Compares rows i and j by the bits of each column. */
  def compare(bits: IndexedSeq[Array[Long]], i: Int, j: Int): Int = {
    var highest = 0L
    var deciding = 0
    var c = 0
    while (c < bits.length) {
      val differing = bits(c)(i) ^ bits(c)(j)
      if (isBelow(highest, differing) && isBelow(highest, highest ^ differing)) {
        highest = differing
        deciding = c
      }
      c += 1
    }
    java.lang.Long.compareUnsigned(bits(deciding)(i), bits(deciding)(j))
  }

  private def isBelow(left: Long, right: Long): Boolean = java.lang.Long.compareUnsigned(left, right) < 0
}
