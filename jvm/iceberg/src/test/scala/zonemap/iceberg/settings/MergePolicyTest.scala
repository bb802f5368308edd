// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.settings

import java.util.UUID

import org.scalatest.funsuite.AnyFunSuite

/** Policies decide when runs are merged. */
class MergePolicyTest extends AnyFunSuite {
  import MergePolicy._

  private val uuid = new UUID(7, 11)

  private def due(policy: MergePolicy, runs: Int, sequence: Long = 150, previous: Long = 149, table: UUID = uuid) =
    policy.isDue(MergePoint(table, sequence, previous, runs))

  test("nothing to merge: never due") {
    for (policy <- Seq(Probabilistic(limit = 1, minRuns = 0), Deterministic(minRuns = 0), Off()); runs <- Seq(0, 1))
      assert(!due(policy, runs, sequence = 100, previous = 99))
  }

  test("the hard cap is due whatever the policy says") {
    for (policy <- Seq(
        Probabilistic(limit = Int.MaxValue, forcedEvery = Int.MaxValue),
        Deterministic(minRuns = 1000),
        Off())) {
      assert(due(policy, runs = 32) && due(policy, runs = 500))
      assert(!due(policy, runs = 31))
    }
  }

  test("probabilistic: p = runs / limit, measured over many flushes") {
    for ((runs, limit) <- Seq((20, 1000), (20, 100), (10, 20))) {
      val policy = Probabilistic(limit, forcedEvery = Int.MaxValue)
      val share = (1 to 20000).count(sequence => due(policy, runs, sequence.toLong, sequence - 1L)) / 20000.0
      val p = runs.toDouble / limit
      assert(math.abs(share - p) < 4 * math.sqrt(p * (1 - p) / 20000), s"$runs of $limit: $share")
    }
  }

  test("probabilistic: certain from the limit on") {
    assert((1L to 1000L).forall(sequence => due(Probabilistic(limit = 20, hardCap = 1000), 20, sequence, sequence - 1)))
  }

  test("probabilistic: few runs are left alone, but for the forced merge") {
    val policy = Probabilistic(limit = 1, minRuns = 8)
    assert(!due(policy, runs = 7) && due(policy, runs = 8))
    assert(due(policy, runs = 2, sequence = 200, previous = 199))
    assert(due(policy, runs = 2, sequence = 250, previous = 199), "several commits in one flush, the 200th among them")
    assert(!due(policy, runs = 2, sequence = 250, previous = 201))
  }

  test("probabilistic: the same table and sequence number draw the same; tables draw apart") {
    val policy = Probabilistic(limit = 40, forcedEvery = Int.MaxValue)
    def draws(table: UUID) = (1L to 500L).map(sequence => due(policy, 20, sequence, sequence - 1, table))
    assert(draws(uuid) == draws(uuid))
    assert(draws(uuid) != draws(new UUID(7, 12)))
  }

  test("deterministic: at its number of runs") {
    assert(!due(Deterministic(), runs = 7) && due(Deterministic(), runs = 8))
  }
}
