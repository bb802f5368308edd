// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.testing

import java.util.SplittableRandom

/** A random generator with the choices that tests make; equal seeds make equal sequences of choices. */
final class Rng(val seed: Long) {
  private val random = new SplittableRandom(seed)

  def int(bound: Int): Int = random.nextInt(bound)
  def long(): Long = random.nextLong()
  def chance(percent: Int): Boolean = random.nextInt(100) < percent
  def pick[T](values: Seq[T]): T = values(random.nextInt(values.size))
  def some[T](values: Seq[T], atMost: Int): Seq[T] = Seq.fill(1 + int(atMost))(pick(values))
  def bytes(length: Int): Array[Byte] = Array.fill(length)(random.nextInt(256).toByte)
}

object Rng {

  /** The seed from -Dzonemap.seed, else from the clock. */
  lazy val baseSeed: Long = sys.props.get("zonemap.seed").fold(System.nanoTime() & 0xffffffffffL)(_.toLong)
}
