// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.faults

import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.testing.{OwnProcess, Rng}

/**
 * Processes that halt at a call of the store, in the middle of a write: the next process plans as Iceberg does, a build
 * and gc leave a whole index. `make test` takes two points by the seed; ZONEMAP_FAULTS=all (`make faults`) takes all.
 */
class HaltedProcessTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  private val random = new Rng(Rng.baseSeed)
  private val faulted = new Faulted
  private val works = Seq("build", "refresh", "merge", "gc", "flush", "follow").map(StoreWork.named)

  override def beforeEach(): Unit = process.restart()

  /** Returns whether the work made so many calls. */
  private def halts(work: StoreWork, call: Int): Boolean =
    try faulted.halt(work, call)
    catch { case e: Throwable => fail(s"${work.name} halted at call $call, seed ${random.seed}: $e", e) }

  if (sys.env.get("ZONEMAP_FAULTS").contains("all"))
    for (work <- works) test(s"${work.name}, halted at each of its calls") {
      val calls = Iterator.from(0).takeWhile(halts(work, _)).size
      info(s"$calls calls")
      assert(calls > 1 && calls < Faulted.MaxCalls)
    }
  else
    test("work that is halted at one of its first calls, twice") {
      (0 until 2).foreach { _ =>
        val (work, call) = (random.pick(works), random.int(4))
        info(s"${work.name} at call $call")
        assert(halts(work, call))
      }
    }
}
