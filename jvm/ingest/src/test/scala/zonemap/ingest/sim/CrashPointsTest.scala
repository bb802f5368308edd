// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.sim

import org.scalatest.funsuite.AnyFunSuite

/** A producer or a committer dies after each single operation, and after each pair of operations, and starts again. */
class CrashPointsTest extends AnyFunSuite {
  private val Records = 2
  private val MaxSteps = 60

  /** The number of operations of a run, and the difference that the oracle finds. */
  private def run(crashes: Set[Int]): (Int, Option[String]) = {
    val world = new SimWorld(seed = 4, without = None)
    world.faults = false
    val table = new SimTable(world)
    val actors = Seq(new SimWriter(table, "lane-0", Records), new SimCommitter(table))
    world.crashes = crashes
    (0 until MaxSteps).foreach { _ =>
      world.trueMillis += 1000
      actors.foreach(world.run)
    }
    world.crashes = Set.empty
    val operations = world.operations
    val committer = actors.collectFirst { case c: SimCommitter => c }.get
    committer.drain()
    val committed = table.catalog.metadata.snapshots.flatMap(_.records).map(_.seq)
    assert(committed == (0 until Records).map(_.toLong), crashes)
    (operations, new SimOracle(table).problem)
  }

  private val operations = run(Set.empty)._1

  test("without a crash everything is committed") {
    assert(run(Set.empty)._2.isEmpty && operations > 40, operations)
  }

  test("after each single crash everything is committed once") {
    (1 to operations).foreach(k => assert(run(Set(k))._2.isEmpty, s"crash after operation $k"))
  }

  test("after each pair of crashes everything is committed once") {
    val last = math.min(operations, 150)
    for (a <- 1 to last; b <- a + 1 to last) assert(run(Set(a, b))._2.isEmpty, s"crashes after operations $a and $b")
  }
}
