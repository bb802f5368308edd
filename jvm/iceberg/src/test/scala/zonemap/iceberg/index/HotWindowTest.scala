// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.index

import org.apache.iceberg.expressions.Expressions
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.plan.Planning
import zonemap.iceberg.registry.TableIndex
import zonemap.iceberg.report.PlanMode
import zonemap.iceberg.snapshot.LiveSegment
import zonemap.iceberg.testing.{FileKind, HeldSnapshots, OwnProcess}
import zonemap.iceberg.upkeep.Maintained

/** What gives way first when the cap is reached. */
class HotWindowTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  override def beforeEach(): Unit = process.restart()

  private val filter = Expressions.equal("id", 15L)
  private val noTime = -60000L // a window that ended before the commits of this test

  /** A stored table with 20 segments; every column of each segment is loaded. */
  private def read(): Maintained = {
    val t = new Maintained(columns = 5)
    (1 to 5).foreach { _ => t.append(20); t.maintain() }
    Planning.ours(t.table, filter)
    t
  }

  private def held(t: Maintained): Long = process.tables.of(t.table.load()).residentBytes

  test("over the cap, segments outside of the window are let go of and stay covered") {
    val t = read()
    val before = held(t)
    process.tables.shrinkTo(before - 1, hotWindowMillis = noTime)
    assert(held(t) < before && t.isIndexed)
    t.table.io.resetCounts()
    val planned = Planning.ours(t.table, filter)
    assert(planned.mode == PlanMode.Exact && planned.tasks.size == 1)
    assert(t.table.io.reads(FileKind.Manifest) == 0 && t.table.io.reads(FileKind.ManifestList) == 0)
    assert(t.differences().isEmpty)
  }

  test("the table with old segments gives way before one whose segments are in the window") {
    val (old, young) = (read(), read())
    // two hours ago for the index, by way of what it has recorded
    val index = process.tables.of(old.table.load())
    val aged = old.index.get.segments.map { s =>
      val origin = s.origin.copy(committedAtMillis = s.origin.committedAtMillis.map(_ - 2 * 3600 * 1000))
      new LiveSegment(s.segment, origin, s.liveManifests)
    }
    index.put(old.index.get.withSegments(aged))
    Planning.ours(old.table, filter)
    val beforeYoung = held(young)
    val beforeOld = held(old) // used last, and yet
    process.tables.shrinkTo(beforeOld + beforeYoung - 1, hotWindowMillis = 3600L * 1000)
    assert(held(old) < beforeOld && held(young) == beforeYoung)
    assert(old.isIndexed && young.isIndexed)
  }

  test("a cap below what cannot move: whole snapshots go, as the cap is a hard one") {
    val t = read()
    process.tables.shrinkTo(10, hotWindowMillis = 3600L * 1000)
    assert(held(t) <= 10 && !t.isIndexed)
  }

  test("a store that is gone when segments are let go of: no answer changes") {
    val t = read()
    val before = held(t)
    t.table.io.storeFiles.foreach(t.table.io.remove)
    process.tables.shrinkTo(before - 1, hotWindowMillis = noTime)
    assert(held(t) < before && t.differences().isEmpty)
  }

  test("snapshots beyond the limit of one table are let go of; the manifests of those left are known") {
    val t = new Maintained
    (1 to TableIndex.MaxSnapshots + 10).foreach { _ => t.append(1); t.maintain() }
    val index = process.tables.of(t.table.load())
    assert(HeldSnapshots.listed(t.table.load(), index) == TableIndex.MaxSnapshots)
    t.append(1)
    t.table.io.resetCounts()
    assert(Planning.ours(t.table, filter).mode == PlanMode.Hybrid)
    assert(t.table.io.reads(FileKind.Manifest) == 1)
  }
}
