// SPDX-License-Identifier: Apache-2.0
package zonemap.core.fact

import zonemap.core.Rng

private[fact] object Damage {

  /** The bytes cut off, or with one bit changed. */
  def of(good: Array[Byte], rng: Rng): Array[Byte] =
    if (rng.chance(30)) java.util.Arrays.copyOf(good, rng.int(good.length))
    else {
      val flipped = good.clone()
      val at = rng.int(good.length)
      flipped(at) = (flipped(at) ^ 1 << rng.int(8)).toByte
      flipped
    }
}
