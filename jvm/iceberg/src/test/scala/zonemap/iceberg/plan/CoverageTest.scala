// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import java.util.concurrent.{ConcurrentHashMap, CountDownLatch, TimeUnit}

import org.apache.iceberg.{ManageSnapshots, Schema}
import org.apache.iceberg.expressions.Expressions
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.{optional, required}
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.report.{PlanMode, StockReason, Tier}
import zonemap.iceberg.settings.{CoverOnRead, PlannerSettings, UpkeepMode}
import zonemap.iceberg.testing.{FileKind, MemoryTableOperations, OwnProcess, Stats, TestFiles, TestTable}

/** How a snapshot comes to be covered, and what every way reads and writes. */
class CoverageTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  import FileKind._
  import Planning._

  private val schema = new Schema(required(1, "id", Types.LongType.get()), optional(2, "name", Types.StringType.get()))

  override def beforeEach(): Unit = process.restart()

  /** `commits` commits of `files` files each; file k holds ids from 10k to 10k + 9. */
  private def table(commits: Int, files: Int = 2): TestTable = {
    val table = TestTable.create(schema)
    (0 until commits).foreach(commit => append(table, commit * files, files))
    table
  }

  private def append(table: TestTable, first: Int, files: Int = 1): Unit =
    table.append((first until first + files).map { k =>
      TestFiles.data(table, Map("id" -> Stats.range(k * 10L, k * 10L + 9)))
    }: _*): Unit

  private def awaitUpkeep(): Unit = { assert(process.upkeep.await(30000), "upkeep did not end"); () }

  private val idIs15 = Expressions.equal("id", 15L)

  test(
    "an exact version: no manifest, a manifest list that Iceberg holds is not read again, few reads of the store; the second plan reads nothing") {
    val t = table(commits = 5)
    build(t)
    process.restart()
    t.io.resetCounts()
    val first = ours(t, idIs15)
    assert(first.mode == PlanMode.Exact && first.report.tier.contains(Tier.Cold))
    assert(first.report.considered == 10 && first.tasks.size == 1)
    assert((t.io.reads(Manifest), t.io.reads(ManifestList), t.io.reads(Metadata)) == ((0, 0, 0)))
    assert(t.io.reads(Store) == 2, t.io.readLocations(Store))
    t.io.resetCounts()
    val second = ours(t, idIs15)
    assert(second.report.tier.contains(Tier.Hot) && second.paths == first.paths)
    assert(t.io.totalReads == 0)
  }

  test("an exact version: a manifest list that nobody has read is read once") {
    val t = table(commits = 5)
    build(t)
    process.restart()
    val fresh = new TestTable(new MemoryTableOperations(t.io, t.operations.current()), t.name)
    t.io.resetCounts()
    val planned = ours(fresh, idIs15)
    assert(planned.mode == PlanMode.Exact && planned.tasks.size == 1)
    assert((t.io.reads(Manifest), t.io.reads(ManifestList), t.io.reads(Metadata)) == ((0, 1, 0)))
    ours(fresh, idIs15)
    assert(t.io.reads(ManifestList) == 1)
  }

  test("an exact version: the reads of a cold plan do not grow with the number of manifests") {
    def coldReads(commits: Int) = {
      val t = table(commits)
      build(t)
      process.restart()
      t.io.resetCounts()
      assert(ours(t, idIs15).mode == PlanMode.Exact)
      t.io.totalReads
    }
    assert(coldReads(2) == coldReads(20))
  }

  test("unknown manifests are fetched side by side, each once") {
    val t = table(commits = 2)
    build(t)
    (0 until 8).foreach(k => append(t, 4 + k))
    val sideBySide = new CountDownLatch(4)
    t.io.beforeRead = location =>
      if (FileKind.of(location) == Manifest) {
        sideBySide.countDown()
        assert(sideBySide.await(30, TimeUnit.SECONDS), "one waits for the other")
        ()
      }
    t.io.resetCounts()
    val hybrid = ours(t, idIs15)
    assert(hybrid.mode == PlanMode.Hybrid && hybrid.report.considered == 12)
    assert(t.io.reads(Manifest) == 8)
  }

  test("a manifest that cannot be fetched ahead is read when it is decoded") {
    val t = table(commits = 2)
    build(t)
    (0 until 8).foreach(k => append(t, 4 + k))
    val failed = ConcurrentHashMap.newKeySet[String]()
    t.io.beforeRead = location =>
      if (FileKind.of(location) == Manifest && failed.add(location)) throw new IllegalStateException("storage is busy")
    t.io.resetCounts()
    assert(ours(t, idIs15).paths.size == 1)
    assert(failed.size == 8 && t.io.reads(Manifest) == 8)
  }

  for (appends <- Seq(1, 3, 40))
    test(s"a snapshot $appends appends ahead: the manifest list and the unknown manifests are read, once") {
      val t = table(commits = 3)
      build(t)
      (0 until appends).foreach(k => append(t, 6 + k))
      t.io.resetCounts()
      val hybrid = ours(t, idIs15)
      assert(hybrid.mode == PlanMode.Hybrid)
      assert(hybrid.report.considered == 6 + appends && hybrid.tasks.size == 1)
      assert((t.io.reads(ManifestList), t.io.reads(Manifest)) == ((1, appends)))
      t.io.resetCounts()
      assert(ours(t, idIs15).mode == PlanMode.Exact)
      assert(t.io.totalReads == 0)
    }

  test("a snapshot ahead of the store of another JVM: version, hint, list and unknown manifests") {
    val t = table(commits = 3)
    build(t)
    append(t, 6)
    process.restart()
    t.io.resetCounts()
    val hybrid = ours(t, idIs15)
    assert(hybrid.mode == PlanMode.Hybrid && hybrid.report.considered == 7 && hybrid.tasks.size == 1)
    assert((t.io.reads(ManifestList), t.io.reads(Manifest)) == ((1, 1)))
  }

  test("more unknown entries than a plan may decode: Iceberg plans and says how many") {
    val t = table(commits = 2)
    build(t)
    append(t, 4, files = 3)
    val settings = Off.copy(maxUnknownEntries = 2)
    val planned = ours(t, idIs15, settings)
    assert(planned.reason.contains(StockReason.TooManyUnknown(3, 2)))
    assert(planned.paths == stock(t, idIs15).map(_.file().location()).toSet)
    assert(ours(t, idIs15, settings.copy(maxUnknownEntries = 3)).mode == PlanMode.Hybrid)
  }

  test("more unknown entries than a plan may decode: upkeep covers the snapshot meanwhile") {
    val t = table(commits = 2)
    build(t)
    append(t, 4, files = 3)
    val settings = PlannerSettings(upkeep = UpkeepMode.Memory, maxUnknownEntries = 2)
    assert(ours(t, idIs15, settings).reason.contains(StockReason.TooManyUnknown(3, 2)))
    awaitUpkeep()
    assert(ours(t, idIs15, settings).mode == PlanMode.Exact)
  }

  test("an empty table: Iceberg plans") {
    val empty = relation(TestTable.create(schema))
    assert(empty.allowDistributedPlanning())
    assert(empty.lastPlan().mode == PlanMode.Stock(StockReason.EmptyTable))
  }

  private case class Mode(upkeep: UpkeepMode, coverOnRead: CoverOnRead, first: String, later: String, stored: Boolean)

  private val modes = Seq(
    Mode(UpkeepMode.Off, CoverOnRead.Background, first = "NOT_COVERED", later = "NOT_COVERED", stored = false),
    Mode(UpkeepMode.Off, CoverOnRead.Wait, first = "NOT_COVERED", later = "NOT_COVERED", stored = false),
    Mode(UpkeepMode.Memory, CoverOnRead.Background, first = "NOT_COVERED", later = "EXACT", stored = false),
    Mode(UpkeepMode.Memory, CoverOnRead.Wait, first = "EXACT", later = "EXACT", stored = false),
    Mode(UpkeepMode.Auto, CoverOnRead.Background, first = "NOT_COVERED", later = "EXACT", stored = false),
    Mode(UpkeepMode.Auto, CoverOnRead.Wait, first = "EXACT", later = "EXACT", stored = false),
    Mode(UpkeepMode.Persist, CoverOnRead.Background, first = "NOT_COVERED", later = "EXACT", stored = true),
    Mode(UpkeepMode.Persist, CoverOnRead.Wait, first = "EXACT", later = "EXACT", stored = true)
  )

  private def told(planned: Planned): String = planned.reason.fold(planned.mode.name)(_.code)

  for (mode <- modes)
    test(s"nothing known, upkeep ${mode.upkeep}, coverOnRead ${mode.coverOnRead}: ${mode.first}, then ${mode.later}") {
      val t = table(commits = 2)
      val settings = PlannerSettings(upkeep = mode.upkeep, coverOnRead = mode.coverOnRead)
      val expected = stock(t, idIs15).map(_.file().location()).toSet
      val first = ours(t, idIs15, settings)
      assert(told(first) == mode.first && first.paths == expected)
      awaitUpkeep()
      val later = ours(t, idIs15, settings)
      assert(told(later) == mode.later && later.paths == expected)
      awaitUpkeep()
      assert(t.io.storeFiles.nonEmpty == mode.stored, t.io.storeFiles)
    }

  for ((upkeep, written) <- Seq(
      UpkeepMode.Off -> false,
      UpkeepMode.Memory -> false,
      UpkeepMode.Persist -> true,
      UpkeepMode.Auto -> true))
    test(s"a table with a store, read after an append with upkeep $upkeep: ${if (written) "the store follows"
      else "nothing is written"}") {
      val t = table(commits = 2)
      build(t)
      append(t, 4)
      t.io.resetCounts()
      assert(ours(t, idIs15, PlannerSettings(upkeep = upkeep)).mode == PlanMode.Hybrid)
      awaitUpkeep()
      assert((t.io.writes(Store) > 0) == written)
      process.restart()
      t.io.resetCounts()
      assert(told(ours(t, idIs15)) == (if (written) "EXACT" else "HYBRID"))
      assert(t.io.reads(Manifest) == (if (written) 0 else 1))
    }

  test("the store location is honoured, with and without a trailing slash, by every way to write") {
    for (location <- Seq("mem://elsewhere/index-store", "mem://elsewhere/index-store/")) {
      val t = table(commits = 2)
      val settings = PlannerSettings(storeLocation = Some(location), upkeep = UpkeepMode.Persist)
      build(t, settings)
      append(t, 4)
      assert(ours(t, idIs15, settings).mode == PlanMode.Hybrid)
      awaitUpkeep()
      val uuid = t.load().uuid()
      assert(t.io.storeFiles.nonEmpty && t.io.storeFiles.forall(_.startsWith(s"mem://elsewhere/index-store/$uuid/")))
      process.restart()
      assert(ours(t, idIs15, settings).mode == PlanMode.Exact)
      process.restart()
      assert(told(ours(t, idIs15)) == "NOT_COVERED", "the default location must not know of it")
    }
  }

  test("distributed planning is allowed only while the snapshot is not covered") {
    val t = table(commits = 1)
    assert(relation(t).allowDistributedPlanning())
    build(t)
    assert(!relation(t).allowDistributedPlanning())
  }

  test("a relation sees one state of the index: covered while it is planned, it stays with its first answer") {
    val t = table(commits = 1)
    val settled = relation(t)
    assert(settled.allowDistributedPlanning())
    build(t)
    settled.newBatchScan().planFiles().close()
    assert(settled.lastPlan().mode.name == "STOCK")
  }

  test("metrics, metadata deletes and maintenance: newScan stays Iceberg's own") {
    val t = table(commits = 1)
    build(t)
    assert(relation(t).newScan().getClass.getName.startsWith("org.apache.iceberg."))
  }

  test("rollback, branches and tags: every snapshot is answered from its own manifests") {
    val t = table(commits = 3)
    val first = t.load().history().get(0).snapshotId()
    val manage: ManageSnapshots = t.load().manageSnapshots()
    manage.createBranch("b", first).createTag("v", first).commit()
    build(t)
    for (refine <- Seq[Refine](_.useRef("b"), _.useRef("v"), _.useSnapshot(first))) {
      val planned = ours(t, refine = refine)
      assert(planned.mode == PlanMode.Hybrid || planned.mode == PlanMode.Exact)
      assert(planned.tasks.size == 2 && difference(planned.tasks, stock(t, refine = refine)).isEmpty)
    }
    t.load().manageSnapshots().rollbackTo(first).commit()
    assert(ours(t).tasks.size == 2)
    append(t, 50)
    assert(ours(t).tasks.size == 3 && difference(ours(t).tasks, stock(t)).isEmpty)
  }
}
