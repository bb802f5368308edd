// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets
import java.security.MessageDigest

/** Identifies a data file: 128 bits of the SHA-256 of its path and length. Ordered by unsigned bytes. */
final private[zonemap] case class FactKey(high: Long, low: Long) extends Ordered[FactKey] {

  override def compare(that: FactKey): Int = {
    val order = java.lang.Long.compareUnsigned(high, that.high)
    if (order != 0) order else java.lang.Long.compareUnsigned(low, that.low)
  }
}

private[zonemap] object FactKey {

  def of(path: String, lengthBytes: Long): FactKey = {
    val digest = MessageDigest.getInstance("SHA-256")
    digest.update(path.getBytes(StandardCharsets.UTF_8))
    digest.update(ByteBuffer.allocate(java.lang.Long.BYTES).putLong(lengthBytes).array())
    val hash = ByteBuffer.wrap(digest.digest())
    FactKey(hash.getLong, hash.getLong)
  }
}
