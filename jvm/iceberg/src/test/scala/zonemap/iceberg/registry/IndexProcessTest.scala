// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.registry

import org.apache.iceberg.expressions.Expressions
import org.apache.iceberg.metrics.LoggingMetricsReporter
import org.scalatest.funsuite.AnyFunSuite

import zonemap.core.io.ByteSource
import zonemap.iceberg.plan.{Planning, ZoneMapTable}
import zonemap.iceberg.report.PlanMode
import zonemap.iceberg.settings.{ColdSettings, PlannerSettings, UpkeepMode}
import zonemap.iceberg.snapshot.SnapshotKey
import zonemap.iceberg.testing.{LoggedWarnings, TestProcess}
import zonemap.iceberg.upkeep.{Maintained, UpkeepProcess}

/** One owner of all that a driver keeps between queries, and the caps that its sessions share. */
class IndexProcessTest extends AnyFunSuite {
  import IndexProcessTest._

  private val filter = Expressions.equal("id", 15L)
  private val memory =
    Maintained.settled(PlannerSettings(upkeep = UpkeepMode.Memory))(_.copy(maxCpuShare = 1))

  private def caps(hotMaxBytes: Long): PlannerSettings = PlannerSettings(hotMaxBytes = hotMaxBytes)

  private def warnings(run: => Unit): Seq[String] = LoggedWarnings.of("zonemap.index")(run)

  private def eventually(holds: => Boolean): Unit = {
    val deadline = System.nanoTime() + 20 * 1000000000L
    while (!holds && System.nanoTime() < deadline) Thread.sleep(1)
    assert(holds): Unit
  }

  test("two processes of one JVM see nothing of each other: tables, caches, spilled segments, caps, plans, commits") {
    val (one, two) = (new TestProcess, new TestProcess)
    Seq(one, two).foreach(p => p.now.commits.register(seen => Some(seen.settings)))
    val t = new Maintained()(one)
    t.append()
    t.maintain(memory)
    assert(Planning.ours(t.table, filter, memory)(one).mode == PlanMode.Exact)
    def knows(p: TestProcess): Boolean = p.tables.of(t.table.load()).get(SnapshotKey.of(t.table.current)).isDefined
    assert(knows(one) && !knows(two))
    assert(one.tables.residentBytes > 0 && two.tables.residentBytes == 0)
    assert(one.index.planLog.plannedScans == 1 && two.index.planLog.plannedScans == 0)
    assert(Planning.ours(t.table, filter)(two).reason.isDefined, "nothing is indexed there")

    assert(one.access.spill.of(ByteSource.ofBytes(new Array[Byte](100))).isDefined)
    assert(one.access.spill.totalBytes == 100 && two.access.spill.totalBytes == 0)

    one.index.use(caps(1000).copy(cold = ColdSettings(memoryMaxBytes = 77)))
    assert(one.index.caps.hotMaxBytes == 1000 && one.access.cold.settings.memoryMaxBytes == 77)
    assert(two.index.caps.hotMaxBytes != 1000 && two.access.cold.settings.memoryMaxBytes != 77)
    one.index.use(memory)

    t.append()
    eventually(knows(one))
    assert(!knows(two) && two.tables.of(t.table.load()).isEmpty, "the other one follows commits to its own tables only")
    one.now.close()
    assert(one.tables.residentBytes == 0)
    t.append()
    assert(two.now.await(10000) && !knows(one), "a closed process follows no commit")
    two.now.close()
  }

  test("the session that plans first sets the caps and may change them; others are told once for each set of values") {
    val process = new IndexProcess
    val (first, second) = (Session(1), Session(2))
    assert(warnings(process.use(caps(100), first)).isEmpty && process.caps.hotMaxBytes == 100)
    val told = warnings((1 to 5).foreach(_ => process.use(caps(200), second)))
    assert(told.size == 1 && process.caps.hotMaxBytes == 100)
    assert(
      told.head.contains("spark.sql.zonemap.hot.maxBytes='200', in use is '100'") && !told.head.contains("cold."),
      told.head)
    assert(warnings(process.use(caps(300), second)).size == 1, "another value")
    assert(warnings(process.use(caps(100), second)).isEmpty, "what holds is what it asks for")
    assert(
      warnings(process.use(caps(400), Session(1))).isEmpty && process.caps.hotMaxBytes == 400,
      "it may change them")
    first.isOver = true
    assert(warnings(process.use(caps(500), Session(2))).isEmpty && process.caps.hotMaxBytes == 500)
  }

  test("callers without a session do not keep sessions from setting the caps") {
    val process = new IndexProcess
    process.use(caps(100))
    process.use(caps(200))
    assert(process.caps.hotMaxBytes == 200)
    val session = Session(1)
    assert(warnings(process.use(caps(300), session)).isEmpty && process.caps.hotMaxBytes == 300)
    assert(warnings(process.use(caps(400))).size == 1 && process.caps.hotMaxBytes == 300)
  }

  test("caps that cannot be put into effect do not hold, and fail with each plan") {
    val process = new IndexProcess
    val session = Session(1)
    val before = process.caps
    val noFolder = caps(100).copy(cold = ColdSettings(dir = Some("no\u0000folder")))
    (1 to 2).foreach(_ => assertThrows[java.nio.file.InvalidPathException](process.use(noFolder, session)))
    assert(process.caps == before && process.access.cold.settings == before.cold)
    process.use(caps(100), session)
    assert(process.caps.hotMaxBytes == 100)
  }

  test("a table that is handed no process plans with the one of this JVM") {
    val t = new Maintained()(new TestProcess)
    t.append()
    val (operations, id) = (t.table.operations, t.table.current.snapshotId())
    val relation = new ZoneMapTable(operations, t.table.name, LoggingMetricsReporter.instance(), id, Planning.Covering)
    Planning.plan(relation, filter, _.useSnapshot(id)): Unit
    val index = UpkeepProcess.ofJvm.index.tables.of(t.table.load())
    assert(relation.lastPlan().mode == PlanMode.Exact && index.get(SnapshotKey.of(t.table.current)).isDefined)
    UpkeepProcess.ofJvm.index.tables.forget(index.uuid)
  }

  test("two sessions with other caps do not cool each other's tables") {
    val process = new TestProcess
    val (first, second) = (Session(1), Session(2))
    val t = new Maintained()(process)
    t.append(20)
    process.index.use(memory, first)
    process.upkeep.enqueue(t.table.load(), t.table.current, memory)
    assert(process.upkeep.await(30000) && t.isIndexed)
    val held = process.tables.residentBytes
    process.index.use(memory.copy(hotMaxBytes = 1), second)
    process.index.shrink()
    process.upkeep.trim()
    assert(process.upkeep.await(30000) && process.tables.residentBytes == held && t.isIndexed)
    process.index.use(memory.copy(hotMaxBytes = 1), first)
    process.upkeep.trim()
    assert(process.upkeep.await(30000) && !t.isIndexed, "the session that set the cap lowers it")
  }
}

private object IndexProcessTest {
  final case class Session(number: Int) extends CapsSession {
    @volatile var isOver = false
  }
}
