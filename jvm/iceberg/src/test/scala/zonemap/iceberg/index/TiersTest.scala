// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.index

import java.nio.file.{Files, Path}
import java.util.concurrent.atomic.AtomicInteger

import org.apache.iceberg.Schema
import org.apache.iceberg.expressions.{Expression, Expressions}
import org.apache.iceberg.types.Types
import org.apache.iceberg.types.Types.NestedField.required
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.admin.Prewarm
import zonemap.iceberg.plan.{Planned, Planning}
import zonemap.iceberg.registry.TableIndex
import zonemap.iceberg.report.{PlanMode, Tier}
import zonemap.iceberg.settings.{ColdSettings, PlannerSettings, UpkeepMode}
import zonemap.iceberg.snapshot.LiveSegment
import zonemap.iceberg.store.FileIOByteSource
import zonemap.iceberg.testing.{OwnProcess, Stats, TestFiles, TestTable}
import zonemap.iceberg.upkeep.Maintained

/** What plans cost when the index is in memory, in local files, in the cold cache or in its store only. */
class TiersTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  override def beforeEach(): Unit = forgetAll()
  override def afterEach(): Unit = forgetAll()

  /** Drops the index from memory, as a restart of the JVM does; files on disk remain. */
  private def forgetAll(): Unit = {
    val access = process.access
    process.restart()
    // the requests of a process end with it
    while (!access.fetches.isIdle || !access.loads.isIdle) Thread.sleep(1)
    process.access.cold.use(ColdSettings())
  }

  private val columns = 5
  private val hour = 3600L * 1000

  private def ids(from: Long, until: Long): Expression =
    Expressions.and(Expressions.greaterThanOrEqual("id", from), Expressions.lessThan("id", until))

  /** A table with 6 segments of 20 files in a store that is not local; no part of the index is in memory. */
  private def stored(): Maintained = {
    val t = new Maintained(columns)
    (1 to 6).foreach { _ => t.append(20); t.maintain() }
    forgetAll()
    t
  }

  private def index(t: Maintained): TableIndex = index(t.table)
  private def index(t: TestTable): TableIndex = process.tables.of(t.load())

  /** The plan, and the number of reads from the table's storage. */
  private def plan(t: Maintained, filter: Expression, settings: PlannerSettings = Planning.Off): (Planned, Int) = {
    t.table.io.resetCounts()
    val planned = Planning.ours(t.table, filter, settings)
    val reads = t.table.io.totalReads
    assert(Planning.difference(planned.tasks, Planning.stock(t.table, filter)).isEmpty)
    (planned, reads)
  }

  private def cold(dir: Option[Path] = None, memory: Long = 1L << 20): PlannerSettings =
    Planning.Off.copy(cold = ColdSettings(memory, dir.map(_.toString)))

  /** Applies the lowest cap that retains the snapshots: it releases most of the memory of small segments. */
  private def coolAll(t: Maintained): Unit = index(t).cool(Long.MaxValue, Long.MaxValue): Unit

  test("evicted from the hot tier, a segment comes from the cold cache: no request, the same plan") {
    val t = stored()
    val (first, reads) = plan(t, ids(0, 400))
    assert(first.report.tier.contains(Tier.Cold) && reads > 1)
    val held = index(t).residentBytes
    coolAll(t)
    assert(index(t).residentBytes < held && t.isIndexed)
    val (second, none) = plan(t, ids(0, 400))
    assert(none == 0 && second.report.tier.contains(Tier.Cold) && second.paths == first.paths)
    val (third, _) = plan(t, ids(0, 400))
    assert(third.report.tier.contains(Tier.Hot))
  }

  test("without the cold cache the same plan asks the store again") {
    val t = stored()
    plan(t, ids(0, 400), cold(memory = 0))
    coolAll(t)
    val (_, reads) = plan(t, ids(0, 400), cold(memory = 0))
    assert(reads > 0)
  }

  test("after a restart, segments come from disk and only the version is read; damage there changes no answer") {
    val t = stored()
    val dir = Files.createTempDirectory("zonemap-tiers-test")
    val (_, reads) = plan(t, ids(0, 400), cold(Some(dir)))
    forgetAll()
    val (again, fewer) = plan(t, ids(0, 400), cold(Some(dir)))
    assert(again.mode == PlanMode.Exact && fewer == 1 && reads > 1)
    Files.walk(dir).filter(Files.isRegularFile(_)).forEach(file => Files.write(file, Array[Byte](1, 2, 3)): Unit)
    forgetAll()
    val (damaged, fetched) = plan(t, ids(0, 400), cold(Some(dir)))
    assert(damaged.mode == PlanMode.Exact && fetched == reads)
  }

  test("ranges that were read while the store was damaged are read again once it is repaired") {
    val t = stored()
    val dir = Files.createTempDirectory("zonemap-tiers-test")
    val segments = t.table.io.storeFiles.filter(_.contains("/segments/"))
    val whole = segments.map(path => path -> t.table.io.bytes(path))
    whole.foreach { case (path, bytes) => t.table.io.put(path, bytes.map(byte => (byte ^ 0x10).toByte)) }
    assert(plan(t, ids(0, 400), cold(Some(dir)))._1.mode.isInstanceOf[PlanMode.Stock])
    whole.foreach { case (path, bytes) => t.table.io.put(path, bytes) }
    forgetAll()
    assert(plan(t, ids(0, 400), cold(Some(dir)))._1.mode == PlanMode.Exact)
  }

  /** Makes all segments some hours old, except the newest one. */
  private def aged(t: Maintained): Unit = {
    val snapshot = t.index.get
    val newest = snapshot.segments.maxBy(_.origin.committedAtMillis.get)
    index(t).put(snapshot.withSegments(snapshot.segments.map { s =>
      if (s eq newest) s
      else {
        val committed = s.origin.committedAtMillis.map(_ - 5 * hour)
        new LiveSegment(s.segment, s.origin.copy(committedAtMillis = committed), s.liveManifests)
      }
    }))
  }

  test("a condition on recent rows touches hot segments only, one on all of them both tiers") {
    val t = stored()
    val none = cold(memory = 0)
    plan(t, ids(0, 1200), none)
    aged(t)
    process.tables.shrinkTo(index(t).residentBytes - 1, hotWindowMillis = hour)
    process.tables.shrinkTo(index(t).residentBytes * 3 / 4, hotWindowMillis = hour)
    val newest = t.fileCount * 10L
    val (recent, reads) = plan(t, ids(newest - 50, newest), none)
    assert(reads == 0 && recent.report.tier.contains(Tier.Hot) && recent.tasks.size == 5)
    t.table.load().updateSchema().addColumn("added", Types.LongType.get()).commit()
    val withAdded = Expressions.and(ids(newest - 50, newest), Expressions.isNull("added"))
    val (added, addedReads) = plan(t, withAdded, none)
    assert(addedReads == 0 && added.report.tier.contains(Tier.Hot), "no segment has the column that was added")
    val (everything, some) = plan(t, ids(0, newest), none)
    assert(some > 0 && everything.report.tier.contains(Tier.Both))
    process.tables.shrinkTo(index(t).residentBytes - 1, hotWindowMillis = hour)
    val (old, more) = plan(t, ids(0, 50), none)
    assert(more == 1 && old.report.tier.contains(Tier.Cold))
  }

  test("upkeep in memory, far over the cap: segments are spilled, the cap holds, no manifest is read again") {
    val t = new Maintained(columns = 20)
    val memory = PlannerSettings(upkeep = UpkeepMode.Memory)
    (1 to 12).foreach { _ => t.append(400); t.maintain(memory) }
    val whole = index(t).residentBytes
    val capped = memory.copy(hotMaxBytes = whole / 2)
    t.append(50)
    t.maintain(capped)
    info(s"$whole bytes, then ${index(t).residentBytes} and ${index(t).spilledBytes} spilled")
    assert(index(t).residentBytes <= whole / 2 && index(t).spilledBytes > whole / 3 && t.isIndexed)
    t.table.io.resetCounts()
    for (filter <- Seq(ids(0, 400), ids(2000, 2100), Expressions.equal("c7", 70L), Expressions.alwaysTrue())) {
      val planned = Planning.ours(t.table, filter, capped)
      assert(planned.mode == PlanMode.Exact && t.table.io.totalReads == 0)
      assert(Planning.difference(planned.tasks, Planning.stock(t.table, filter)).isEmpty)
      t.table.io.resetCounts()
      assert(process.upkeep.await(30000) && index(t).residentBytes <= whole / 2)
    }
    assert(t.table.io.storeFiles.isEmpty)
  }

  test("no room on disk: the cap costs snapshots, and no answer") {
    val t = new Maintained(columns)
    val noRoom = PlannerSettings(upkeep = UpkeepMode.Memory, cold = ColdSettings(diskMaxBytes = 0))
    (1 to 3).foreach { _ => t.append(20); t.maintain(noRoom) }
    Planning.ours(t.table, ids(0, 100), noRoom)
    process.tables.shrinkTo(2000)
    assert(process.tables.residentBytes <= 2000 && !t.isIndexed && index(t).spilledBytes == 0)
    assert(t.differences().isEmpty)
  }

  test("prewarm: the next plan asks for nothing, on the columns and the hours that were named") {
    val t = stored()
    val all = new Prewarm(process.now).run(t.table.load(), t.table.current, Planning.Off, None, Nil)
    assert(all.segments == t.index.get.segments.size && all.bytes > 0)
    for (filter <- Seq(Expressions.equal("c3", 90L), ids(100, 300), Expressions.alwaysTrue()))
      assert(plan(t, filter)._2 == 0)
    forgetAll()
    val none = new Prewarm(process.now).run(t.table.load(), t.table.current, Planning.Off, Some(0L), Nil)
    assert(none.segments == 0)
    val few = new Prewarm(process.now).run(t.table.load(), t.table.current, Planning.Off, Some(hour), Seq("ID"))
    assert(few.segments == all.segments && few.bytes <= all.bytes && plan(t, ids(100, 300))._2 == 0)
    val wrong =
      intercept[IllegalArgumentException](
        new Prewarm(process.now).run(t.table.load(), t.table.current, Planning.Off, None, Seq("nope")))
    assert(wrong.getMessage.contains("'nope'"))
  }

  /**
   * One segment of 22,000 files, too large to be fetched whole: one column follows the order of files, six are
   * random.
   */
  private lazy val large: TestTable = {
    val table = TestTable.create(new Schema((1 to 7).map(id => required(id, s"c$id", Types.LongType.get())): _*))
    val random = new java.util.Random(5)
    val files = (0 until 22000).map { k =>
      val clustered = "c1" -> Stats.range(k * 10L, k * 10L + 9)
      val others = (2 to 7).map { id =>
        val start = random.nextLong() >> 1
        s"c$id" -> Stats.range(start, start + 9)
      }
      TestFiles.data(
        table,
        (others :+ clustered).toMap,
        path = s"mem://lake/${new java.util.UUID(random.nextLong(), k)}")
    }
    table.append(files: _*)
    Planning.build(table)
    assert(table.io.storeFiles.exists(table.io.bytes(_).length > FileIOByteSource.WholeFileBytes))
    table
  }

  /** The numbers of planned files of the large table, and of requests. */
  private def planLarge(filter: Expression): (Int, Int) = {
    large.io.resetCounts()
    val planned = Planning.ours(large, filter)
    assert(planned.mode == PlanMode.Exact)
    (planned.tasks.size, large.io.totalReads)
  }

  private def planLargeCold(filter: Expression): (Int, Int) = { forgetAll(); planLarge(filter) }

  private val everything = Expressions.alwaysTrue()
  private val oneFile = Expressions.equal("c1", 123455L)
  private val scattered = Expressions.in("c2", (1 to 2000).map(k => Long.box(k * 1000000007L)): _*)

  test("prewarm of files too large to be fetched whole: exact bounds and paths too") {
    planLargeCold(oneFile)
    forgetAll()
    new Prewarm(process.now).run(large.load(), large.current, Planning.Off, None, Seq("c1"))
    process.access.cold.clear()
    assert(planLarge(oneFile) == ((1, 0)))
    assert(planLarge(Expressions.lessThan("c1", 3005L)) == ((301, 0)))
    assert(planLarge(Expressions.equal("c2", 150L))._2 > 0, "a column that was not named")
  }

  test("a large segment from afar: sections and paths come in a few requests") {
    // one request for the version, two for the ends of the file; neighbouring ranges share the other requests
    val reads = Seq(everything -> 22000, oneFile -> 1, scattered -> 0).map { case (filter, files) =>
      val (planned, requests) = planLargeCold(filter)
      info(s"$planned files, $requests requests")
      assert(files == 0 || planned == files)
      val (again, none) = planLarge(filter)
      assert(again == planned && none == 0)
      requests
    }
    assert(reads.max <= 10, reads)
  }

  test("requests are under way side by side") {
    val (underWay, most) = (new AtomicInteger, new AtomicInteger)
    large.io.beforeRead = _ => {
      most.accumulateAndGet(underWay.incrementAndGet(), (a, b) => Math.max(a, b))
      Thread.sleep(20)
      underWay.decrementAndGet(): Unit
    }
    try planLargeCold(everything)
    finally large.io.beforeRead = _ => ()
    assert(most.get >= 2)
  }

  private def isAhead(thread: Thread): Boolean = thread.getStackTrace.exists(_.getClassName.contains("RangePrefetch"))

  test("what fails ahead of time is asked for again, and the plan is right") {
    large.io.beforeRead = _ => if (isAhead(Thread.currentThread)) throw new IllegalStateException("no luck")
    try assert(planLargeCold(oneFile)._1 == 1 && planLargeCold(everything)._1 == 22000)
    finally large.io.beforeRead = _ => ()
  }

  test("without room in the cold cache nothing is fetched ahead: one request a section, the same plan") {
    forgetAll()
    large.io.resetCounts()
    val planned = Planning.ours(large, oneFile, cold(memory = 0))
    assert(planned.tasks.size == 1 && large.io.totalReads > 10 && large.io.totalReads <= 25, large.io.totalReads)
  }
}
