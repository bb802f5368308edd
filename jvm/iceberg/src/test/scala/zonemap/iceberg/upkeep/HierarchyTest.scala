// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

import java.util.concurrent.atomic.{AtomicBoolean, AtomicReference}

import org.apache.iceberg.ExpireSnapshots.CleanupLevel
import org.apache.iceberg.expressions.Expressions
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.build.{LocalRunner, Merging, SegmentCompactor, SnapshotIndexer}
import zonemap.iceberg.plan.Planning
import zonemap.iceberg.registry.TableIndex
import zonemap.iceberg.report.PlanMode
import zonemap.iceberg.settings.{MergePolicy, PlannerSettings, UpkeepMode}
import zonemap.iceberg.snapshot.StoredSnapshots
import zonemap.iceberg.testing.OwnProcess

/**
 * Bounds the number of segments that a plan reads, whatever happened to the table before. ZONEMAP_HIERARCHY_COMMITS
 * sets the greatest number of commits.
 */
class HierarchyTest extends AnyFunSuite with BeforeAndAfterEach with OwnProcess {
  override def beforeEach(): Unit = process.restart()

  private val bound = MergePolicy.DefaultHardCap + SegmentCompactor.MaxHours + SegmentCompactor.MaxSmallDays

  private val ages =
    Iterator.iterate(1)(_ * 10).takeWhile(_ <= sys.env.get("ZONEMAP_HIERARCHY_COMMITS").fold(1000)(_.toInt)).toSeq

  test(s"segments held, files opened and bytes read after ${ages.mkString(", ")} commits") {
    val t = new Maintained
    val seen = for (target <- ages) yield {
      while (t.fileCount < 2 * target) {
        t.append()
        if (t.fileCount % 200 == 0) t.expire(retain = 50)
        if (t.fileCount % 8 == 0 || t.fileCount == 2 * target) t.maintain()
      }
      val segments = t.index.get.segments.size
      val levels = t.index.get.levels
      val (opened, bytes) = Maintained.coldReads(t.table)
      val planned = Planning.ours(t.table, Expressions.equal("id", 15L))
      assert(planned.mode == PlanMode.Exact && planned.report.considered == t.fileCount && planned.tasks.size == 1)
      info(f"$target%5d commits: $levels, $opened files of the store opened, $bytes bytes read")
      t.maintain()
      (segments, opened, bytes.toDouble / t.fileCount)
    }
    assert(seen.forall(_._1 <= bound))
    assert(seen.forall(_._2 <= bound + 2), "a version and the segments")
    assert(seen.last._3 <= seen.head._3, "bytes read for each file do not grow")
    assert(t.differences().isEmpty)
  }

  for (policy <- Seq(
      MergePolicy.Probabilistic(hardCap = 8),
      MergePolicy.Deterministic(minRuns = 4),
      MergePolicy.Off(hardCap = 8)))
    test(s"$policy: runs stay below the cap, in memory alone too") {
      val t = new Maintained
      val settings = Maintained.settled(PlannerSettings(upkeep = UpkeepMode.Memory))(_.copy(merge = policy))
      (1 to 40).foreach { _ =>
        t.append(1)
        t.maintain(settings)
        assert(t.index.get.segments.count(_.origin.level.name == "micro") < 8)
      }
      assert(t.differences().isEmpty && t.table.io.storeFiles.isEmpty)
    }

  test("plans that cover commits themselves, with upkeep off, do not pile up segments") {
    val t = new Maintained
    t.append()
    Planning.build(t.table)
    (1 to 3 * MergePolicy.DefaultHardCap).foreach { _ =>
      t.append(1)
      Planning.ours(t.table, Expressions.equal("id", 15L))
      assert(process.upkeep.await(60000))
    }
    assert(t.index.get.segments.size <= bound)
    assert(t.differences().isEmpty)
  }

  test("delete segments stay below the cap, and the deletes they hold apply") {
    val t = new Maintained
    val files = t.append(60)
    t.maintain()
    files.foreach { file =>
      t.delete(file)
      t.maintain()
      assert(t.index.get.deletes.segments.size <= MergePolicy.DefaultHardCap)
    }
    assert(t.differences().isEmpty)
    process.restart()
    assert(t.differences().isEmpty && t.index.get.deletes.count == 60)
  }

  /** A maintainer with its own memory, as in another JVM. */
  private final class Maintainer(t: Maintained, policy: MergePolicy) {
    private val index = new TableIndex(t.table.load().uuid(), process.access)

    def step(): Unit = {
      val table = t.table.load()
      val snapshot = table.currentSnapshot()
      val store = process.store(table)
      if (index.isEmpty) StoredSnapshots.loadNearest(table, snapshot, store, 8).foreach(index.put)
      val covered =
        SnapshotIndexer.inMemory(table, snapshot, SnapshotIndexer.diff(table, snapshot, index), process.access.fetches)
      index.put(covered)
      val merged = Merging.ifDue(table, covered, index, policy, new SegmentCompactor(process.access.spill))
      index.put(merged)
      index.put(new Covering(process.index).flush(table, merged, index, store))
    }
  }

  test("two maintainers of one table, and readers that know nothing: every answer is right") {
    val t = new Maintained
    t.append()
    val failure = new AtomicReference[Throwable]
    val done = new AtomicBoolean
    val policies =
      Seq(MergePolicy.Deterministic(minRuns = 3), MergePolicy.Probabilistic(limit = 10, minRuns = 2, hardCap = 6))
    val threads = policies.map { policy =>
      val maintainer = new Maintainer(t, policy)
      new Thread(() =>
        try
          while (!done.get) {
            maintainer.step()
            Thread.sleep(5)
          }
        catch { case e: Throwable => failure.compareAndSet(null, e): Unit })
    }
    threads.foreach(_.start())
    try
      (1 to 60).foreach { _ =>
        t.append(1)
        process.restart()
        // what Iceberg plans is the measure; a snapshot no maintainer has reached yet is covered from the manifests
        val found = t.differences()
        assert(found.isEmpty)
      }
    finally {
      done.set(true)
      threads.foreach(_.join(60000))
    }
    assert(Option(failure.get).isEmpty)
    process.restart()
    new Maintainer(t, policies.head).step()
    assert(Planning.ours(t.table).mode == PlanMode.Exact && t.differences().isEmpty)
  }

  test("merge by procedure: rows of every level, less of everything, and the same answers") {
    val t = new Maintained
    (1 to 6).foreach { _ => t.append(); t.maintain() }
    val before = t.index.get
    val rows = process.admin.merge(t.table.load(), t.table.current, Maintained.Persist, new LocalRunner(_))
    assert(rows.map(_.level) == Seq("day", "hour", "micro", "deletes"))
    val micro = rows.find(_.level == "micro").get
    assert(micro.segmentsBefore == before.segments.count(_.origin.level.name == "micro") && micro.segmentsAfter == 0)
    assert(rows.map(_.segmentsAfter).sum < rows.map(_.segmentsBefore).sum)
    assert(t.index.get.levels.contains("micro=0"))
    assert(t.differences().isEmpty)
    process.restart()
    assert(Planning.ours(t.table).mode == PlanMode.Exact && t.differences().isEmpty)
    val again = process.admin.merge(t.table.load(), t.table.current, Maintained.Persist, new LocalRunner(_))
    assert(again.forall(row => row.segmentsBefore == row.segmentsAfter && row.bytesBefore == row.bytesAfter))
  }

  test("compaction, rewritten manifests, expiry, rollback and branches change no answer; dead manifests leave") {
    val t = new Maintained
    val files = (1 to 12).flatMap { _ =>
      val f = t.append(2); t.maintain(); f
    }
    def check(what: String) = {
      assert(t.differences(Maintained.Persist).isEmpty, what)
      t.maintain()
      process.restart()
      assert(t.differences().isEmpty, s"$what, from the store")
    }
    check("appends")
    val rewrite = t.table.load().newRewrite()
    files.take(10).foreach(rewrite.deleteFile(_))
    rewrite.addFile(t.file()).addFile(t.file()).commit()
    check("rewritten data files")
    val beforeMerge = t.table.current.snapshotId()
    t.table.load().rewriteManifests().clusterBy(_ => "all").commit()
    check("rewritten manifests")
    t.append()
    t.expire(retain = 3, CleanupLevel.ALL)
    check("expired snapshots")
    t.table.load().manageSnapshots().createBranch("b", t.table.current.snapshotId()).commit()
    t.table.load().newFastAppend().appendFile(t.file()).toBranch("b").commit()
    check("a commit to a branch")
    val onBranch = Planning.ours(t.table, refine = _.useRef("b"))
    assert(Planning.difference(onBranch.tasks, Planning.stock(t.table, refine = _.useRef("b"))).isEmpty)
    t.table.load().manageSnapshots().rollbackTo(beforeMerge).commit()
    check("rolled back")
    t.append()
    check("an append after the rollback")
    process.admin.merge(t.table.load(), t.table.current, Maintained.Persist, new LocalRunner(_))
    assert(t.index.get.segments.forall(SegmentCompactor.isFullyLive), "dead manifests leave at the merge")
    check("merged")
  }
}
