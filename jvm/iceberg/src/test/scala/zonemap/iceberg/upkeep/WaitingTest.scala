// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

import java.util.concurrent.{CountDownLatch, Executors, Future, TimeoutException, TimeUnit}

import scala.util.Using

import org.apache.iceberg.Snapshot
import org.apache.iceberg.metrics.LoggingMetricsReporter
import org.scalatest.{BeforeAndAfterAll, BeforeAndAfterEach}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.plan.{Planning, ZoneMapTable}
import zonemap.iceberg.report.{PlanMode, PlanReport}
import zonemap.iceberg.testing.{FileKind, OwnProcess}

/** A query waits for the decoding of manifests that it needs itself, and for no other. */
class WaitingTest extends AnyFunSuite with BeforeAndAfterEach with BeforeAndAfterAll with OwnProcess {
  private val threads = Executors.newCachedThreadPool()

  override def beforeEach(): Unit = process.restart()
  override def afterAll(): Unit = threads.shutdownNow(): Unit

  /** A plan of one snapshot, on a thread of its own. */
  private def planning(t: Maintained, snapshot: Snapshot): Future[PlanReport] =
    threads.submit { () =>
      val relation = new ZoneMapTable(
        t.table.operations,
        t.table.name,
        LoggingMetricsReporter.instance(),
        snapshot.snapshotId(),
        Planning.Covering,
        process.now)
      Using.resource(relation.newBatchScan().useSnapshot(snapshot.snapshotId()).planFiles())(_.forEach(_ => ()))
      relation.lastPlan()
    }

  private def isDone(plan: Future[PlanReport], millis: Long): Boolean =
    try { plan.get(millis, TimeUnit.MILLISECONDS); true }
    catch { case _: TimeoutException => false }

  test(
    "while one query decodes a snapshot, others plan snapshots in memory, and one that needs the same waits for it") {
    val (t, other) = (new Maintained, new Maintained)
    Seq(t, other).foreach { table => table.append(); table.maintain(Planning.Covering) }
    val held = t.table.current
    (1 to 5).foreach(_ => t.append(50))
    val uncovered = t.table.current
    t.table.io.resetCounts()
    val (reached, gate) = (new CountDownLatch(1), new CountDownLatch(1))
    t.table.io.beforeRead = location =>
      if (FileKind.of(location) == FileKind.Manifest) {
        reached.countDown()
        gate.await(60, TimeUnit.SECONDS): Unit
      }
    try {
      val decoding = planning(t, uncovered)
      assert(reached.await(30, TimeUnit.SECONDS))
      assert(planning(t, held).get(10, TimeUnit.SECONDS).mode == PlanMode.Exact, "its snapshot is in memory")
      assert(planning(other, other.table.current).get(10, TimeUnit.SECONDS).mode == PlanMode.Exact, "another table")
      val same = planning(t, uncovered)
      assert(!isDone(same, 200) && !isDone(decoding, 1), "the snapshot is still being decoded")
      gate.countDown()
      assert(decoding.get(30, TimeUnit.SECONDS).mode == PlanMode.Hybrid)
      assert(same.get(30, TimeUnit.SECONDS).mode == PlanMode.Hybrid)
      assert(t.table.io.reads(FileKind.Manifest) == 5, "each manifest was decoded once for both")
    } finally gate.countDown()
  }
}
