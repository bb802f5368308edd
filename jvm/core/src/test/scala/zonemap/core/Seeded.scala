// SPDX-License-Identifier: Apache-2.0
package zonemap.core

import java.util.SplittableRandom

import org.scalatest.Suite

/**
 * Random tests. The seed comes from -Dzonemap.seed or, without it, from the clock; every failure message contains it.
 */
trait Seeded { this: Suite =>
  private val seed: Long = sys.props.get("zonemap.seed").fold(System.nanoTime())(_.toLong)

  /**
   * Runs the body once per round, each time with a new generator; a failure message contains the seed and the round.
   */
  protected def rounds(count: Int)(body: Rng => Unit): Unit = {
    println(s"${getClass.getSimpleName}: -Dzonemap.seed=$seed")
    (0 until count).foreach { round =>
      withClueOf(s"-Dzonemap.seed=$seed, round $round: ")(body(new Rng(new SplittableRandom(seed * 1000003 + round))))
    }
  }

  private def withClueOf(clue: String)(body: => Unit): Unit =
    try body
    catch {
      case e: org.scalatest.exceptions.TestFailedException => throw e.modifyMessage(_.map(clue + _))
      case e: Exception                                    => throw new AssertionError(clue + e, e)
    }
}

/** A random generator with the kinds of choice that the tests need. */
final class Rng(random: SplittableRandom) {
  def int(bound: Int): Int = random.nextInt(bound)
  def long(): Long = random.nextLong()
  def chance(percent: Int): Boolean = random.nextInt(100) < percent
  def pick[T](values: Seq[T]): T = values(random.nextInt(values.size))
  def bytes(length: Int): Array[Byte] = Array.fill(length)(random.nextInt(256).toByte)
}
