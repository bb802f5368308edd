// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.iceberg.Schema
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.required
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.admin.BuildResult
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.registry.CapsSession
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.snapshot.SnapshotKey
import zonemap.iceberg.testing.{FileKind, OwnProcess, TestFiles, TestTable}

/** The background worker. */
class UpkeepTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  private val memory = PlannerSettings(upkeep = UpkeepMode.Memory)

  override def beforeEach(): Unit = process.restart()

  private def table(): TestTable = {
    val table = TestTable.create(new Schema(required(1, "id", Types.LongType.get())))
    table.append(TestFiles.data(table))
    table
  }

  private def covered(t: TestTable): Boolean = process.tables.of(t.load()).get(SnapshotKey.of(t.current)).isDefined

  private def await(): Unit = if (!process.upkeep.await(30000)) fail("upkeep did not end")

  test("a snapshot asked for many times is read once") {
    val t = table()
    val gate = new CountDownLatch(1)
    t.io.resetCounts()
    t.io.beforeRead =
      _ => if (Thread.currentThread().getName == "zonemap-upkeep") gate.await(30, TimeUnit.SECONDS): Unit
    (0 until 20).foreach(_ => process.upkeep.enqueue(t.load(), t.current, memory))
    gate.countDown()
    await()
    assert(covered(t) && t.io.reads(FileKind.Manifest) == 1 && t.io.reads(FileKind.ManifestList) == 1)
  }

  test("a lower cap releases memory at once, although no plan adds to the index") {
    val tables = Seq.fill(5)(table())
    tables.foreach(t => process.upkeep.enqueue(t.load(), t.current, memory))
    await()
    val resident = process.tables.residentBytes
    assert(tables.forall(covered) && resident > 0)
    process.now.use(memory.copy(hotMaxBytes = resident / 2), CapsSession.Nobody)
    await()
    assert(process.tables.residentBytes <= resident / 2)
  }

  test("nobody waits: while the worker is busy, another table only queues") {
    val (busy, other) = (table(), table())
    val gate = new CountDownLatch(1)
    busy.io.beforeRead = _ => gate.await(30, TimeUnit.SECONDS): Unit
    process.upkeep.enqueue(busy.load(), busy.current, memory)
    process.upkeep.enqueue(other.load(), other.current, memory)
    assert(!process.upkeep.await(1) && !covered(other))
    gate.countDown()
    await()
    assert(covered(busy) && covered(other))
  }

  test("a failure is not thrown, ends nothing, and the snapshot may be queued again") {
    val t = table()
    t.io.beforeRead = _ => throw new IllegalStateException("storage is down")
    process.upkeep.enqueue(t.load(), t.current, memory)
    await()
    assert(!covered(t))
    t.io.beforeRead = _ => ()
    process.upkeep.enqueue(t.load(), t.current, memory)
    await()
    assert(covered(t))
  }

  test("off: nothing is queued") {
    val t = table()
    process.upkeep.enqueue(t.load(), t.current, PlannerSettings(upkeep = UpkeepMode.Off))
    await()
    assert(!covered(t))
  }

  test("refresh reads only what the store does not know, build reads all") {
    val t = table()
    (0 until 3).foreach(_ => t.append(TestFiles.data(t)))
    def procedures(run: () => BuildResult) = { t.io.resetCounts(); (run(), t.io.reads(FileKind.Manifest)) }
    val loaded = t.load()
    val (built, all) = procedures(() => process.admin.build(loaded, t.current, memory, new LocalRunner(_)))
    assert(built.dataFiles == 4 && all == 4)
    t.append(TestFiles.data(t))
    process.restart()
    val (refreshed, one) =
      procedures(() => process.admin.refresh(t.load(), t.current, memory, new LocalRunner(_)))
    assert(refreshed.dataFiles == 5 && one == 1 && refreshed.segments == 2)
    val (again, none) =
      procedures(() => process.admin.refresh(t.load(), t.current, memory, new LocalRunner(_)))
    assert(again.dataFiles == 5 && none == 0)
  }

  test("status: what is covered, how far behind, and nothing at all") {
    val t = table()
    def status() = process.status.of(t.load(), Some(t.current), memory)
    assert(!status().covered && status().lagSnapshots == -1 && status().dataFiles == -1)
    process.admin.build(t.load(), t.current, memory, new LocalRunner(_))
    process.restart()
    assert(status().covered && status().lagSnapshots == 0 && status().dataFiles == 1 && status().bytes > 0)
    (0 until 2).foreach(_ => t.append(TestFiles.data(t)))
    assert(!status().covered && status().lagSnapshots == 2)
    val empty = TestTable.create(new Schema(required(1, "id", Types.LongType.get())))
    assert(process.status.of(empty.load(), None, memory).snapshotId == -1)
  }
}
