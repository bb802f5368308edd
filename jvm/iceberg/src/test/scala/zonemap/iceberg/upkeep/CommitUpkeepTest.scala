// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.iceberg.expressions.Expressions
import org.scalatest.{BeforeAndAfterAll, BeforeAndAfterEach}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.build.AppendedFiles
import zonemap.iceberg.plan.Planning
import zonemap.iceberg.report.PlanMode
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.testing.{FileKind, HeldSnapshots, OwnProcess}

/** Commits of this JVM are followed by the index, and pay nothing for it. */
class CommitUpkeepTest extends AnyFunSuite with BeforeAndAfterEach with BeforeAndAfterAll with OwnProcess {
  override def beforeEach(): Unit = {
    process.restart()
    process.now.commits.register(seen => Some(seen.settings))
  }

  // Iceberg keeps listeners for good, and other suites of the JVM commit too
  override def afterAll(): Unit = process.now.close()

  private val memory = unpaced(PlannerSettings(upkeep = UpkeepMode.Memory))

  private def unpaced(settings: PlannerSettings): PlannerSettings =
    Maintained.settled(settings)(_.copy(maxCpuShare = 1))

  /** A table that this JVM knows, because a query has read it. */
  private def known(settings: PlannerSettings = memory): Maintained = {
    val t = new Maintained
    t.append()
    t.maintain(settings)
    Planning.ours(t.table, Expressions.equal("id", 15L), settings)
    t
  }

  private def eventually(holds: => Boolean, seconds: Int = 20): Unit = {
    val deadline = System.nanoTime() + seconds * 1000000000L
    while (!holds && System.nanoTime() < deadline) Thread.sleep(1)
    assert(holds): Unit
  }

  test("committed to indexed, over 200 small commits") {
    val t = known()
    val waits = (1 to 200).map { k =>
      if (k % 50 == 0) t.expire(retain = 10)
      t.append(2)
      val committed = System.nanoTime()
      while (!t.isIndexed && System.nanoTime() - committed < 20e9) Thread.onSpinWait()
      assert(t.isIndexed, s"commit $k")
      (System.nanoTime() - committed) / 1e6
    }.sorted
    info(f"committed to indexed: p50 ${waits(100)}%.1f ms, p99 ${waits(198)}%.1f ms, most ${waits.last}%.1f ms")
    assert(t.index.get.dataFiles == 402)
    t.table.io.resetCounts()
    assert(Planning.ours(t.table).mode == PlanMode.Exact && t.table.io.totalReads == 0)
    assert(t.differences().isEmpty)
  }

  test("the committing thread only enqueues: a commit reads and writes what it does without the index") {
    val (followed, unknown) = (known(), new Maintained)
    unknown.append()
    val gate = new CountDownLatch(1)
    val busy = new Maintained
    busy.append()
    busy.table.io.beforeRead = _ => gate.await(30, TimeUnit.SECONDS): Unit
    process.upkeep.enqueue(busy.table.load(), busy.table.current, memory)
    val counts = Seq(followed, unknown).map { t =>
      t.table.current.allManifests(t.table.io): Unit // Iceberg keeps them with the snapshot
      t.table.io.resetCounts()
      t.append()
      (Seq(FileKind.Metadata, FileKind.ManifestList, FileKind.Manifest, FileKind.Store))
        .map(kind => (t.table.io.reads(kind), t.table.io.writes(kind)))
    }
    assert(!followed.isIndexed, "the worker is busy with another table")
    gate.countDown()
    assert(counts.head == counts.last)
    eventually(followed.isIndexed)
    assert(!unknown.isIndexed)
  }

  test("of many commits the newest is indexed; those it overtook need not be") {
    val t = known()
    val gate = new CountDownLatch(1)
    t.table.io.beforeRead =
      _ => if (Thread.currentThread().getName == "zonemap-upkeep") gate.await(30, TimeUnit.SECONDS): Unit
    (1 to 20).foreach(_ => t.append(1))
    gate.countDown()
    assert(process.upkeep.await(20000))
    assert(t.isIndexed && HeldSnapshots.evictAll(process.tables.of(t.table.load())) <= 3)
  }

  test("commits that come sooner than the share of CPU allows wait, and queries do not wait for them") {
    val settings = Maintained.settled(memory)(_.copy(maxCpuShare = 1e-9))
    val t = known(settings)
    t.append()
    eventually(t.isIndexed)
    (1 to 5).foreach(_ => t.append())
    Thread.sleep(50)
    assert(!t.isIndexed, "the pause is a minute")
    assert(process.upkeep.waiting.size == 1 && process.upkeep.waiting.head <= System.currentTimeMillis() - 50)
    t.table.io.resetCounts()
    assert(
      Planning.ours(t.table, settings = settings).mode == PlanMode.Hybrid && t.table.io.reads(FileKind.Manifest) == 5)
    assert(t.differences(settings).isEmpty)
    assert(t.isIndexed && process.upkeep.waiting.isEmpty, "the query has indexed what the pause delays")
    val last = System.currentTimeMillis()
    t.append()
    assert(process.upkeep.waiting.forall(_ >= last) && process.upkeep.waiting.size == 1, "the age is of this commit")
    assert(process.upkeep.await(20000) && t.isIndexed, "an orderly end leaves nothing out")
    assert(process.upkeep.waiting.isEmpty)
  }

  test("a commit whose files are handed over is indexed within the pause, and no manifest is read") {
    val settings = Maintained.settled(memory)(_.copy(maxCpuShare = 1e-9))
    val t = known(settings)
    t.append()
    eventually(t.isIndexed)
    val waits = (1 to 5).map { _ =>
      val file = t.file()
      t.table.io.resetCounts()
      val snapshot = t.table.append(file)
      process.upkeep.committed(
        t.table.name,
        snapshot.snapshotId(),
        _ => Some(settings),
        AppendedFiles.of(snapshot.snapshotId(), Seq(file)))
      val committed = System.nanoTime()
      eventually(t.isIndexed)
      assert(t.table.io.reads(FileKind.Manifest) == 0)
      assert(process.upkeep.waiting.isEmpty, "an indexed commit does not wait, although its pause is not over")
      (System.nanoTime() - committed) / 1e6
    }
    info(f"committed to indexed with known files: most ${waits.max}%.1f ms")
    assert(t.differences(settings).isEmpty)
    val foreign = t.file()
    t.append()
    t.table.append(foreign)
    process.upkeep.committed(
      t.table.name,
      t.table.current.snapshotId(),
      _ => Some(settings),
      AppendedFiles.of(t.table.current.snapshotId(), Seq(foreign)))
    Thread.sleep(50)
    assert(!t.isIndexed, "a commit of another writer has to be decoded, which the pause delays")
  }

  test("a table that was built without a snapshot is followed from its first commit on") {
    val t = new Maintained
    process.index.expect(t.table.load(), memory)
    t.append()
    eventually(t.isIndexed)
    t.append()
    eventually(t.isIndexed)
    assert(t.differences().isEmpty)
  }

  test(
    "a table that was built without a snapshot, and does not fit in memory, is decoded once and not with each commit") {
    val t = new Maintained
    val small = memory.copy(hotMaxBytes = 1)
    process.index.use(small)
    process.index.expect(t.table.load(), small)
    val index = process.tables.of(t.table.load())
    t.append()
    eventually(index.oversized.isDefined)
    assert(process.upkeep.await(20000))
    t.table.io.resetCounts()
    t.append()
    assert(process.upkeep.await(20000))
    assert(!index.isFollowed && t.table.io.reads(FileKind.Manifest) == 0)
  }

  test("the pause is what a turn took over the share, a minute at most") {
    assert(Pace.pauseMillis(5, 0.001) == 5000 && Pace.pauseMillis(0, 0.0005) == 0)
    assert(Pace.pauseMillis(5, 1) == 5 && Pace.pauseMillis(5000, 0.0005) == Pace.MaxPauseMillis)
    val pace = new Pace
    assert(pace.millisLeft == 0)
    pace.count(1e-6)((1 to 1000000).foreach(i => if (i.toString.hashCode == -1) fail()))
    assert(pace.millisLeft > 1000)
  }

  test("a transaction is announced before it commits: it is looked for once more") {
    val t = known()
    val transaction = t.table.load().newTransaction()
    transaction.newFastAppend().appendFile(t.file()).commit()
    assert(process.upkeep.await(20000))
    transaction.commitTransaction()
    eventually(t.isIndexed)
  }

  test("a transaction that never commits is dropped") {
    val t = known()
    t.table.load().newTransaction().newFastAppend().appendFile(t.file()).commit()
    Thread.sleep(1500)
    assert(process.upkeep.await(20000) && HeldSnapshots.evictAll(process.tables.of(t.table.load())) == 1)
  }

  test("upkeep off: commits are not followed") {
    val t = known()
    Planning.ours(t.table, Expressions.equal("id", 15L), Planning.Off)
    t.append()
    assert(process.upkeep.await(20000) && !t.isIndexed)
  }

  test("the store is written at the interval, or when enough manifests wait") {
    def settings(seconds: Int, manifests: Int) =
      Maintained.settled(unpaced(Maintained.Persist))(
        _.copy(flushIntervalMillis = seconds * 1000L, flushManifests = manifests))
    def versions(t: Maintained) = t.table.io.storeFiles.count(_.contains("/versions/"))
    val patient = known(settings(seconds = 3600, manifests = 5))
    assert(versions(patient) == 1, "the first is written at once")
    (1 to 4).foreach { _ =>
      patient.append()
      eventually(patient.isIndexed)
    }
    assert(versions(patient) == 1, "four manifests wait")
    patient.append()
    eventually(versions(patient) == 2)
    eventually(patient.index.get.segments.forall(_.origin.stored.isDefined))
    assert(patient.index.get.segments.size == 2, "what waited became one segment")
    val timed = known(settings(seconds = 1, manifests = 1000))
    timed.append()
    eventually(versions(timed) == 2)
  }
}
