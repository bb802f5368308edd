// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.faults

import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.testing.{OwnProcess, Rng}

/**
 * Every fault at every call of every work on a store: plans are Iceberg's and within their bound, status names what is
 * wrong, the next process recovers. `make test` takes a sample by the seed; ZONEMAP_FAULTS=all (`make faults`) takes all.
 */
class StoreFaultsTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  private val takesAll = sys.env.get("ZONEMAP_FAULTS").contains("all")
  private val random = new Rng(Rng.baseSeed)
  private val faulted = new Faulted

  override def beforeEach(): Unit = process.restart()

  /** Runs the work with a fault at one call after another, until it makes no such call. */
  private def enumerate(work: StoreWork, faults: => Seq[Fault], step: => Int): Unit = {
    var (call, runs) = (if (takesAll) 0 else random.int(3), 0)
    def met(fault: Fault) =
      try faulted.run(work, call, fault)
      catch { case e: Throwable => fail(s"${work.name}: call $call ${fault.name}, seed ${random.seed}: $e", e) }
    while (faults.map(met).forall(identity)) {
      assert(call < Faulted.MaxCalls)
      runs += 1
      call += step
    }
    info(s"about $call calls, $runs of them with faults")
    assert(runs > 0)
  }

  for (work <- StoreWork.all) test(s"${work.name}, with a fault at any of its calls") {
    if (takesAll) enumerate(work, Fault.all, 1)
    else enumerate(work, Seq(random.pick(Fault.all)), 2 + random.int(4))
  }
}
