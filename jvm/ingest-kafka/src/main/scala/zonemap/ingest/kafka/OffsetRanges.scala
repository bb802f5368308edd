// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

/**
 * A set of offsets as ranges, which are in order and do not touch each other. Immutable.
 *
 * @param ranges the first offset of each range, and the one behind its last
 */
private[kafka] final case class OffsetRanges(ranges: Vector[(Long, Long)]) {

  def isEmpty: Boolean = ranges.isEmpty

  def contains(offset: Long): Boolean = {
    var (low, high) = (0, ranges.size)
    while (low < high) {
      val middle = (low + high) / 2
      if (ranges(middle)._2 <= offset) low = middle + 1 else high = middle
    }
    low < ranges.size && ranges(low)._1 <= offset
  }

  def first: Option[Long] = ranges.headOption.map(_._1)

  /** The offsets from `from` on and before `until`. */
  def within(from: Long, until: Long): OffsetRanges = OffsetRanges(
    ranges.map { case (a, b) => (math.max(a, from), math.min(b, until)) }.filter { case (a, b) => a < b })

  /** The offsets that both have. */
  def intersect(other: OffsetRanges): OffsetRanges = {
    val found = Vector.newBuilder[(Long, Long)]
    var (i, j) = (0, 0)
    while (i < ranges.size && j < other.ranges.size) {
      val ((a, b), (c, d)) = (ranges(i), other.ranges(j))
      if (math.max(a, c) < math.min(b, d)) found += ((math.max(a, c), math.min(b, d)))
      if (b < d) i += 1 else j += 1
    }
    OffsetRanges(found.result())
  }

  /** The same with all offsets from `from` on; this set has none of them. */
  def andFrom(from: Long): OffsetRanges =
    if (ranges.lastOption.exists(_._2 == from)) OffsetRanges(ranges.init :+ (ranges.last._1 -> Long.MaxValue))
    else OffsetRanges(ranges :+ (from -> Long.MaxValue))
}

private[kafka] object OffsetRanges {
  val Empty: OffsetRanges = OffsetRanges(Vector.empty)

  /** @param offsets in order */
  def of(offsets: Iterator[Long]): OffsetRanges = {
    val found = Vector.newBuilder[(Long, Long)]
    var last = Option.empty[(Long, Long)]
    offsets.foreach { offset =>
      last = last match {
        case Some((from, until)) if until == offset => Some((from, offset + 1))
        case before =>
          found ++= before
          Some((offset, offset + 1))
      }
    }
    OffsetRanges((found ++= last).result())
  }
}
