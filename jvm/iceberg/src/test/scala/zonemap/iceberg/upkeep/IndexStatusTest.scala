// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.scalatest.{BeforeAndAfterAll, BeforeAndAfterEach}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.admin.{IndexStatus, StatusResult}
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.plan.Planning
import zonemap.iceberg.report.PlanMode
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.snapshot.SnapshotKey
import zonemap.iceberg.testing.{FileKind, OwnProcess}

/** `status` of a table that changes: coverage, lag, the snapshot that is counted, and the verdict. */
class IndexStatusTest extends AnyFunSuite with BeforeAndAfterEach with BeforeAndAfterAll with OwnProcess {
  private val memory = PlannerSettings(upkeep = UpkeepMode.Memory)
  private val anHour = 3600L * 1000

  override def beforeEach(): Unit = {
    process.restart()
    process.now.commits.register(seen => Some(seen.settings))
  }

  // Iceberg keeps listeners for good, and other suites of the JVM commit too
  override def afterAll(): Unit = process.now.close()

  private def status(t: Maintained, settings: PlannerSettings = Maintained.Persist, laterMillis: Long = 0L) = {
    val table = t.table.load()
    new IndexStatus(process.now, () => System.currentTimeMillis() + laterMillis)
      .of(table, Option(table.currentSnapshot()), settings)
  }

  /** The verdict now, and an hour later. */
  private def verdicts(t: Maintained, settings: PlannerSettings = Maintained.Persist): (String, String) =
    (status(t, settings).verdict, status(t, settings, anHour).verdict)

  private def build(t: Maintained): Unit =
    process.admin.build(t.table.load(), t.table.current, Maintained.Persist, new LocalRunner(_)): Unit

  /** A table of 3 files whose index is stored, followed by two commits of 2 files that this process has not noticed. */
  private def behind(): (Maintained, Long) = {
    val t = new Maintained
    t.append(3)
    build(t)
    process.restart()
    val built = t.table.current.snapshotId()
    t.append()
    t.append()
    (t, built)
  }

  private def files(s: StatusResult) = (s.coverage.filesCovered, s.coverage.filesTotal)

  private def snapshots(s: StatusResult) = (s.coverage.snapshotsCovered, s.coverage.snapshotsTotal)

  /** Holds the reads of manifests; `status` reads none. */
  private def holdUpkeep(t: Maintained): CountDownLatch = {
    val gate = new CountDownLatch(1)
    t.table.io.beforeRead = location =>
      if (FileKind.of(location) == FileKind.Manifest) gate.await(30, TimeUnit.SECONDS): Unit
    gate
  }

  private def isOnlyWriting(t: Maintained): Boolean = {
    val work = process.upkeep.workOn(process.tables.of(t.table.load()))
    work.isWriting && !work.isIndexing
  }

  private def eventually(holds: => Boolean): Unit = {
    val deadline = System.nanoTime() + 20 * 1000000000L
    while (!holds && System.nanoTime() < deadline) Thread.sleep(1)
    assert(holds)
  }

  for (isHeld <- Seq(true, false))
    test(s"behind by two commits, the older snapshot ${if (isHeld) "held" else "in the store only"}: it is counted") {
      val (t, built) = behind()
      if (isHeld)
        process.admin
          .refresh(t.table.load(), t.table.load().snapshot(built), Planning.Off, new LocalRunner(_)): Unit
      val found = status(t)
      assert(!found.covered && found.snapshotId == t.table.current.snapshotId())
      assert(found.coveredSnapshotId == built && found.dataFiles == 3 && found.segments == 1 && found.bytes > 0)
      assert(found.levels == "day=1 hour=0 micro=0" && found.bounds.nonEmpty)
      assert(files(found) == ((3L, 7L)) && snapshots(found) == ((1, 3)))
      val seconds =
        (t.table.current.timestampMillis() - t.table.load().snapshot(built).timestampMillis()) / 1000.0
      assert(found.lagSnapshots == 2 && found.lagSeconds == seconds)
    }

  test("behind: commits that another process may still index are caught up with, older ones are not") {
    val (t, _) = behind()
    assert(verdicts(t) == (("catching up", "behind")))
    assert(status(t).problem.endsWith("2 snapshots behind the table: the commits are younger than upkeep may take"))
    assert(
      status(t, laterMillis = anHour).problem
        .endsWith("no upkeep follows the commits, and the next query or refresh_index indexes them"))
    assert(verdicts(t, Planning.Off) == (("behind", "behind")))
    assert(
      status(t, Planning.Off).problem.endsWith("upkeep.mode=off follows no commits, and refresh_index indexes them"))
  }

  test("the manifest list is read once if the snapshot is not covered, no manifest is, and no version is read twice") {
    val (t, _) = behind()
    def look() = {
      t.table.io.resetCounts()
      status(t)
      assert(t.table.io.reads(FileKind.ManifestList) <= 1 && t.table.io.reads(FileKind.Manifest) == 0)
      val read = t.table.io.readLocations(FileKind.Store)
      assert(read.nonEmpty && read.distinct == read, read)
    }
    look()
    Planning.ours(t.table, settings = Planning.Off)
    look()
    process.admin.refresh(t.table.load(), t.table.current, Maintained.Persist, new LocalRunner(_))
    look()
    process.restart()
    look()
  }

  for (isHeld <- Seq(true, false))
    test(s"the covered snapshot has expired, its index is ${if (isHeld) "held" else "in the store only"}: behind") {
      val (t, built) = behind()
      if (isHeld)
        process.admin
          .refresh(t.table.load(), t.table.load().snapshot(built), Planning.Off, new LocalRunner(_)): Unit
      assert(status(t).verdict == "catching up")
      t.expire(retain = 1)
      val found = status(t)
      assert(found.verdict == "behind" && found.coveredSnapshotId == built && found.lagSnapshots == -1)
      assert(
        found.problem == "the index covers no retained ancestor of the snapshot: no upkeep follows the commits, and the " +
          "next query or refresh_index indexes them")
      process.admin.refresh(t.table.load(), t.table.current, Maintained.Persist, new LocalRunner(_))
      assert(verdicts(t) == (("fresh", "fresh")))
    }

  test("commits with a time in the future: within the pace if the clocks differ by seconds, else behind") {
    val (t, _) = behind()
    assert(status(t, laterMillis = -5000L).verdict == "catching up")
    assert(status(t, laterMillis = -anHour).verdict == "behind")
  }

  test("upkeep fails at each commit: behind, also while the next commit is in its queue, until a turn succeeds") {
    val t = new Maintained
    t.append()
    t.maintain()
    Planning.ours(t.table, settings = Maintained.Persist)
    t.table.io.beforeRead = location =>
      if (FileKind.of(location) == FileKind.Manifest)
        throw new java.io.UncheckedIOException(new java.io.IOException("no more handles"))
    for (commits <- 1 to 2) {
      t.append()
      eventually(!process.upkeep.workOn(process.tables.of(t.table.load())).isIndexing)
      val found = status(t)
      assert(found.lagSnapshots == commits)
      assert(!found.covered && found.verdict == "behind" && found.problem.contains(": upkeep failed: "), found.problem)
      assert(found.problem.contains("no more handles"))
    }
    val gate = holdUpkeep(t)
    process.upkeep.enqueue(t.table.load(), t.table.current, Maintained.Persist)
    assert(status(t).verdict == "behind" && status(t).problem.contains("no more handles"))
    gate.countDown()
    assert(process.upkeep.await(20000))
    assert(status(t).verdict == "fresh" && status(t).problem == "")
  }

  test("no index, because upkeep fails") {
    val t = new Maintained
    t.append()
    t.table.io.beforeRead = location =>
      if (FileKind.of(location) == FileKind.Manifest)
        throw new java.io.UncheckedIOException(new java.io.IOException("no more handles"))
    process.upkeep.enqueue(t.table.load(), t.table.current, Maintained.Persist)
    assert(process.upkeep.await(20000))
    val found = status(t)
    assert(found.verdict == "no index" && found.problem.startsWith("the table has no index yet: upkeep failed: "))
  }

  test("upkeep.mode=memory: not persisted, also while upkeep indexes another snapshot") {
    val (t, other) = (new Maintained, new Maintained)
    t.append()
    val older = t.table.current
    t.append()
    t.maintain(memory)
    other.append()
    val gate = holdUpkeep(other)
    process.upkeep.enqueue(other.table.load(), other.table.current, memory)
    process.upkeep.enqueue(t.table.load(), older, memory)
    assert(process.upkeep.workOn(process.tables.of(t.table.load())).isIndexing)
    assert(status(t, memory).verdict == "not persisted: upkeep.mode=memory writes nothing")
    assert(status(t).verdict == "fresh", "upkeep.mode=persist writes after each turn")
    gate.countDown()
    assert(process.upkeep.await(20000))
    assert(status(t, memory).verdict == "not persisted: upkeep.mode=memory writes nothing")
  }

  test("a hybrid plan covers the snapshot, which is fresh once it is stored") {
    val (t, _) = behind()
    assert(Planning.ours(t.table, settings = Planning.Off).mode == PlanMode.Hybrid)
    val held = status(t, Planning.Off)
    assert(held.covered && held.verdict == "not persisted: upkeep.mode=off writes nothing")
    assert(files(held) == ((7L, 7L)) && snapshots(held) == ((2, 3)) && held.lagSeconds == 0.0)
    assert(status(t).verdict == "not persisted: no write of it is queued, and the next refresh_index writes it")
    process.admin.refresh(t.table.load(), t.table.current, Maintained.Persist, new LocalRunner(_))
    assert(verdicts(t) == (("fresh", "fresh")) && status(t).problem == "")
  }

  test("upkeep at work: a table without an index and one behind are caught up with") {
    val fresh = new Maintained
    fresh.append()
    val (old, _) = behind()
    for (t <- Seq(fresh, old)) {
      val gate = holdUpkeep(t)
      process.upkeep.enqueue(t.table.load(), t.table.current, Maintained.Persist)
      val isCovered = t eq old
      assert(verdicts(t) == (("catching up", if (isCovered) "behind" else "no index")), "no work takes an hour")
      assert(status(t).problem.endsWith("upkeep is at work on it"))
      val hanging = status(t, laterMillis = anHour).problem
      assert(hanging.matches(".*: upkeep has been at work for 36\\d\\d s and may hang"), hanging)
      gate.countDown()
      assert(process.upkeep.await(30000))
      assert(verdicts(t) == (("fresh", "fresh")))
    }
  }

  test("commits that wait for the pace of upkeep are caught up with, until they are indexed") {
    val settings = Maintained.settled(memory)(_.copy(maxCpuShare = 1e-9))
    val t = new Maintained
    t.append()
    t.maintain(settings)
    Planning.ours(t.table, settings = settings)
    t.append()
    eventually(t.isIndexed)
    t.append()
    val found = status(t, settings)
    assert(found.verdict == "catching up" && found.lagSnapshots == 1 && found.dataFiles == 4)
    assert(status(t, settings, anHour).verdict == "behind", "no pause takes an hour")
    assert(process.upkeep.await(20000))
    assert(status(t, settings).verdict == "not persisted: upkeep.mode=memory writes nothing")
  }

  test("covered in memory while a write waits: fresh, and the problem names the flush") {
    val settings = Maintained.settled(Maintained.Persist)(_.copy(flushIntervalMillis = anHour))
    val t = new Maintained
    t.append()
    t.maintain(settings)
    t.append()
    process.upkeep.enqueue(t.table.load(), t.table.current, settings)
    eventually(isOnlyWriting(t))
    val found = status(t, settings)
    assert(found.covered && found.verdict == "fresh")
    assert(found.problem == "the index of the snapshot is in memory only: the next flush writes it")
    assert(status(t, settings, anHour).verdict == "fresh", "the write is due")
    val late = status(t, settings, 2 * anHour).verdict
    assert(late.matches("not persisted: the write of it has been due for 3[56]\\d\\d s and may hang"), late)
    assert(process.upkeep.await(20000))
    assert(status(t, settings).problem == "" && status(t, settings).verdict == "fresh")
  }

  test("covered by upkeep while status reads the store: the state before it is shown, and then fresh") {
    val settings = Maintained.settled(Maintained.Persist)(_.copy(flushIntervalMillis = anHour))
    val t = new Maintained
    t.append()
    t.maintain(settings)
    t.append()
    val reader = Thread.currentThread()
    var isCovered = false
    t.table.io.beforeRead = location =>
      if (!isCovered && Thread.currentThread() == reader && FileKind.of(location) == FileKind.Store) {
        isCovered = true
        process.upkeep.enqueue(t.table.load(), t.table.current, settings)
        eventually(isOnlyWriting(t))
      }
    val found = status(t, settings)
    assert(isCovered && !found.covered && found.verdict == "catching up" && found.dataFiles == 2)
    t.table.io.beforeRead = _ => ()
    assert(status(t, settings).covered && status(t, settings).verdict == "fresh")
    assert(process.upkeep.await(20000))
  }

  test("no snapshot, no index, and no work that could make one") {
    val t = new Maintained
    val empty = status(t)
    assert(empty.verdict == "no snapshot" && empty.problem == "the table has no snapshot")
    assert(files(empty) == ((0L, 0L)) && snapshots(empty) == ((0, 0)) && empty.coveredSnapshotId == -1)
    t.append()
    val found = status(t)
    assert(found.verdict == "no index" && found.problem == "the table has no index yet, and build_index makes one")
    assert(files(found) == ((0L, 2L)) && snapshots(found) == ((0, 1)))
    assert(found.lagSnapshots == -1 && found.lagSeconds == -1.0 && found.dataFiles == -1)
  }

  test("rolled back: the snapshot that the store covers is not an ancestor, and its manifests are known") {
    val t = new Maintained
    t.append()
    val first = t.table.current.snapshotId()
    t.append()
    build(t)
    val second = t.table.current.snapshotId()
    t.table.load().manageSnapshots().rollbackTo(first).commit()
    process.restart()
    val found = status(t)
    assert(found.snapshotId == first && found.coveredSnapshotId == second && !found.covered)
    assert(found.lagSnapshots == -1 && found.lagSeconds == -1.0 && files(found) == ((2L, 2L)))
    assert(found.problem.startsWith("the index covers no retained ancestor of the snapshot: "))
  }

  test("damaged: in the store, and by a difference of shadow mode") {
    val (t, _) = behind()
    process.tables.of(t.table.load()).quarantine("file a is missing")
    assert(status(t).verdict == "damaged: shadow mode found an error, file a is missing")
    build(t)
    assert(status(t).verdict == "fresh")
    process.restart()
    t.table.io.storeFiles
      .filter(_.contains("/versions/"))
      .foreach(file => t.table.io.put(file, t.table.io.bytes(file).dropRight(3)))
    val found = status(t)
    assert(found.verdict.startsWith("damaged: ") && found.problem.startsWith("the stored index is damaged: "))
    assert(found.verdict.stripPrefix("damaged: ") == found.problem.stripPrefix("the stored index is damaged: "))
    assert(snapshots(found) == ((0, 3)) && files(found) == ((0L, 7L)))
  }

  test("unreadable: the storage refuses, with and without the index in memory") {
    val (t, _) = behind()
    t.table.io.beforeRead = location =>
      if (FileKind.of(location) == FileKind.Store)
        throw new java.io.UncheckedIOException(new java.io.IOException("denied"))
    assert(status(t).verdict.startsWith("unreadable: ") && status(t).verdict.contains("denied"))
    t.maintain(memory)
    assert(status(t).covered && status(t).verdict.startsWith("unreadable: "))
  }

  test("too large for the cap: behind, however young the commits are") {
    val (t, _) = behind()
    val small = Maintained.Persist.copy(hotMaxBytes = 4999L)
    process.index.use(small)
    process.tables.of(t.table.load()).oversized =
      Some(zonemap.iceberg.registry.Oversized(SnapshotKey.of(t.table.current), 5000L, 0L))
    assert(status(t, small).verdict == "behind" && status(t, small).problem.contains("hot.maxBytes=4999"))
  }

  test("the tables that are known: planned or built and not forgotten, by name; a commit is seen") {
    val (planned, built, other) = (new Maintained, new Maintained, new Maintained)
    Seq(planned, built, other).foreach(_.append(): Unit)
    Planning.ours(planned.table, settings = Planning.Off)
    build(built)
    assert(process.status.known.map(_.name).sorted == Seq(planned, built).map(_.table.name).sorted)
    built.append()
    val loaded = process.status.known.find(_.name == built.table.name).flatMap(_.reload).map(_.apply()).get
    assert(loaded.currentSnapshot().snapshotId() == built.table.current.snapshotId())
    assert(process.upkeep.await(20000))
    process.admin.drop(built.table.load(), Planning.Off, dryRun = false)
    assert(!process.status.known.exists(_.name == built.table.name))
  }

  test("a known table that is damaged has the name of its last load only") {
    val t = new Maintained
    t.append()
    build(t)
    val index = process.tables.of(t.table.load())
    process.tables.seen(
      index,
      new org.apache.iceberg.BaseTable(t.table.operations, "lake.db.renamed"),
      Maintained.Persist)
    index.damaged("bad bytes")
    assert(process.status.known.map(_.name) == Seq("lake.db.renamed"))
    process.status.forget(process.status.known.head)
    assert(process.status.known.isEmpty && process.tables.look(t.table.load().uuid()).quarantined.isEmpty)
  }

  test("a look is not a use of a table: the order of eviction and the tables that are retained stay the same") {
    def twice(): Maintained = {
      val t = new Maintained
      t.append()
      t.append()
      build(t)
      t
    }
    val (oldest, newest) = (twice(), twice())
    def held(t: Maintained) = process.tables.of(t.table.load()).covered.size
    val first = oldest.table.load().snapshots().iterator().next()
    process.admin.refresh(oldest.table.load(), first, Maintained.Persist, new LocalRunner(_))
    Planning.ours(oldest.table, settings = Planning.Off)
    Planning.ours(newest.table, settings = Planning.Off)
    val unknown = new Maintained
    unknown.append()
    Seq(oldest, unknown).foreach(status(_))
    new IndexStatus(process.now).of(oldest.table.load(), Some(first), Maintained.Persist)
    assert(!process.tables.look(unknown.table.load().uuid()).eq(process.tables.look(unknown.table.load().uuid())))
    assert(process.tables.look(oldest.table.load().uuid()).evictOldest())
    assert(oldest.isIndexed && held(oldest) == 1, "the older snapshot was planned first")
    assert(process.tables.known.map(_._2.uuid).toSet == Seq(oldest, newest).map(_.table.load().uuid()).toSet)
  }
}
