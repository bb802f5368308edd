package zonemap.core

import java.util.SplittableRandom

import org.scalatest.Suite

/** Random tests: the seed comes from -Dzonemap.seed, else from the clock, and is in every failure message. */
trait Seeded { this: Suite =>
  private val seed: Long = sys.props.get("zonemap.seed").fold(System.nanoTime())(_.toLong)

  /** Runs the body with one generator per round; a failure names seed and round. */
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

/** A generator with the choices that tests make. */
final class Rng(random: SplittableRandom) {
  def int(bound: Int): Int = random.nextInt(bound)
  def long(): Long = random.nextLong()
  def chance(percent: Int): Boolean = random.nextInt(100) < percent
  def pick[T](values: Seq[T]): T = values(random.nextInt(values.size))
  def bytes(length: Int): Array[Byte] = Array.fill(length)(random.nextInt(256).toByte)
}
