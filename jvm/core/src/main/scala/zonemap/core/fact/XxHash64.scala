// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import java.lang.Long.rotateLeft
import java.nio.{ByteBuffer, ByteOrder}

/** XXH64 with seed 0, the hash of Parquet's bloom filters. */
private[core] object XxHash64 {
  private val Prime1 = 0x9e3779b185ebca87L
  private val Prime2 = 0xc2b2ae3d27d4eb4fL
  private val Prime3 = 0x165667b19e3779f9L
  private val Prime4 = 0x85ebca77c2b2ae63L
  private val Prime5 = 0x27d4eb2f165667c5L
  private val StripeBytes = 32

  /** Returns the hash of the eight bytes of `value`, little-endian. */
  def ofLong(value: Long): Long = avalanche(mixLong(Prime5 + java.lang.Long.BYTES, value))

  def ofBytes(bytes: Array[Byte]): Long = {
    val in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
    var hash = (if (bytes.length >= StripeBytes) ofStripes(in) else Prime5) + bytes.length
    while (in.remaining >= 8) hash = mixLong(hash, in.getLong)
    if (in.remaining >= 4)
      hash = rotateLeft(hash ^ (in.getInt & 0xffffffffL) * Prime1, 23) * Prime2 + Prime3
    while (in.hasRemaining) hash = rotateLeft(hash ^ (in.get & 0xffL) * Prime5, 11) * Prime1
    avalanche(hash)
  }

  private def ofStripes(in: ByteBuffer): Long = {
    val lanes = Array(Prime1 + Prime2, Prime2, 0L, -Prime1)
    while (in.remaining >= StripeBytes) {
      var lane = 0
      while (lane < lanes.length) {
        lanes(lane) = round(lanes(lane), in.getLong)
        lane += 1
      }
    }
    val joined =
      rotateLeft(lanes(0), 1) + rotateLeft(lanes(1), 7) + rotateLeft(lanes(2), 12) + rotateLeft(lanes(3), 18)
    lanes.foldLeft(joined)((hash, lane) => (hash ^ round(0, lane)) * Prime1 + Prime4)
  }

  private def round(lane: Long, input: Long): Long = rotateLeft(lane + input * Prime2, 31) * Prime1

  private def mixLong(hash: Long, value: Long): Long = rotateLeft(hash ^ round(0, value), 27) * Prime1 + Prime4

  private def avalanche(hash: Long): Long = {
    val second = (hash ^ (hash >>> 33)) * Prime2
    val third = (second ^ (second >>> 29)) * Prime3
    third ^ (third >>> 32)
  }
}
