// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import java.time.Clock
import java.util.concurrent.{Callable, Executors, TimeUnit}

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.IngestTables
import zonemap.ingest.admin.{IngestAdmin, Visibility}
import zonemap.ingest.loop.{CommitLoop, CommitPace, CommitRest}
import zonemap.ingest.queue.{PollLimits, SpoolQueue}
import zonemap.ingest.store.CountingFiles
import zonemap.ingest.table.IngestTarget

/** Writers and committers in threads of their own, on catalogs that compare and swap; and the loop. */
class ManyCommittersTest extends AnyFunSuite {
  private val Writers = 4
  private val Appends = 15

  private def waitFor(what: String, timeoutMillis: Long = 30000)(holds: => Boolean): Unit = {
    val end = System.currentTimeMillis() + timeoutMillis
    while (!holds && System.currentTimeMillis() < end) Thread.sleep(20)
    assert(holds, what): Unit
  }

  IngestTables.Catalogs.foreach { case (name, make) =>
    test(s"$name: $Writers writers, 3 committers and a foreign writer lose nothing and double nothing") {
      val t = IngestTables.in(make())
      val pool = Executors.newFixedThreadPool(Writers + 4)
      @volatile var isOver = false
      try {
        val writers = (0 until Writers).map { w =>
          pool.submit((() => {
            val lane = t.lane(s"lane-$w")
            (0 until Appends).foreach(i => t.append(lane, t.dataFile(f"$w-$i%02d")))
          }): Runnable)
        }
        val committers = (0 until 3).map { _ =>
          pool.submit((() => {
            val committer = new Committer(t.target, t.settings, Clock.systemUTC())
            var conflicts = 0
            while (!isOver) conflicts += committer.pass().count(_.outcome == PassOutcome.Fenced)
            conflicts
          }): Callable[Int])
        }
        val foreign = pool.submit((() =>
          (0 until 10).foreach { i =>
            t.reload().newAppend().appendFile(t.dataFile(s"foreign-$i")).commit()
            Thread.sleep(20)
          }): Runnable)
        writers.foreach(_.get(120, TimeUnit.SECONDS))
        foreign.get(120, TimeUnit.SECONDS)
        waitFor("the queue is empty", 120000)(t.target.queue.names().isEmpty)
        isOver = true
        committers.foreach(_.get(60, TimeUnit.SECONDS))
      } finally {
        isOver = true
        pool.shutdown()
      }
      val expected =
        (for (w <- 0 until Writers; i <- 0 until Appends) yield f"$w-$i%02d") ++ (0 until 10).map(i => s"foreign-$i")
      assert(t.live() == expected.sorted)
      assert(new Quarantine(t.target.files).names().isEmpty)
    }
  }

  test("the loop commits, a table that fails leaves the others alone, and a stop ends it") {
    val t = IngestTables.hadoop()
    val settings = IngestSettings(intervalMillis = 100, pollMillis = 50)
    val announced = new java.util.concurrent.ConcurrentLinkedQueue[(String, Long)]
    val loop = new CommitLoop(
      Seq[(String, () => IngestTarget)](
        "broken" -> (() => throw new IllegalStateException("no such table")),
        "hanging" -> (() => {
          Thread.sleep(60000)
          t.target
        }),
        "events" -> (() => t.target)),
      settings,
      Clock.systemUTC(),
      (name, commit) => announced.add(name -> commit.snapshotId): Unit
    )
    loop.start()
    loop.start()
    try {
      val receipt = t.append("a", t.dataFile("a0"))
      loop.ring("events")
      val admin = new IngestAdmin(t.target, t.settings, Clock.systemUTC())
      assert(admin.await(receipt, 30000) == Visibility.Visible)
      t.append("a", t.dataFile("a1"))
      waitFor("the second record is visible")(t.live() == Seq("a0", "a1"))
      val snapshots = t.reload().snapshots().asScala.map(s => t.table.name() -> s.snapshotId()).toSeq
      waitFor("both snapshots are announced")(announced.asScala.toSeq == snapshots)
      val status = loop.status.map(s => s.table -> s).toMap
      assert(status("broken").problem.exists(_.contains("no such table")) && status("broken").lastPassMillis.isEmpty)
      assert(status("events").problem.isEmpty && status("events").lastPassMillis.nonEmpty)
    } finally assert(!loop.stop(2000)): Unit
    t.append("a", t.dataFile("a2"))
    Thread.sleep(300)
    assert(t.live() == Seq("a0", "a1"))
  }

  test("records that come after a commit are committed after the interval, although nobody rings") {
    val t = IngestTables.hadoop()
    t.append("a", t.dataFile("a0"))
    val settings = IngestSettings(intervalMillis = 2000, pollMillis = 600000)
    val loop =
      new CommitLoop(Seq[(String, () => IngestTarget)]("events" -> (() => t.target)), settings, Clock.systemUTC())
    loop.start()
    try {
      waitFor("the first record is visible")(t.live() == Seq("a0"))
      t.append("a", t.dataFile("a1"))
      waitFor("the second record is visible")(t.live() == Seq("a0", "a1"))
    } finally loop.close()
  }

  Seq(
    (100L, Some(80L), 5000L, 0.5, 4900L),
    (6000L, Some(6000L), 5000L, 0.5, 6000L),
    (6000L, Some(6000L), 5000L, 0.25, 18000L),
    (6000L, Some(100L), 5000L, 0.25, 300L), // the rest of the time went into reading the queue
    (60000L, None, 5000L, 0.5, 0L)
  ).foreach { case (worked, commits, interval, duty, rest) =>
    test(s"after $worked ms of work with $commits ms of commits, the loop rests $rest ms with a duty cycle of $duty") {
      val pace = new CommitPace(IngestSettings(intervalMillis = interval, maxDutyCycle = duty))
      pace.worked(worked, commits)
      assert(pace.restMillis == rest)
    }
  }

  test("a loop that rests reads the queue ahead, and rests no longer once half of the soft limit has arrived") {
    val t = IngestTables.hadoop(settings = IngestSettings(softLimitRecords = 6, softWaitMillis = 1))
    val counted = new CountingFiles(t.target.files)
    val queue = SpoolQueue.open(counted, 0)
    val settings = IngestSettings(intervalMillis = 3000, pollMillis = 100, softLimitRecords = 6)
    val pace = new CommitPace(settings)
    pace.worked(0, Some(200))
    def restMillis(leftOver: Int): Long = {
      val started = System.nanoTime()
      new CommitRest(settings, pace, () => false).rest(Some(queue), leftOver)
      (System.nanoTime() - started) / 1000000
    }
    (0 until 2).foreach(i => t.append("a", t.dataFile(s"a$i")))
    assert(restMillis(0) >= 2999)
    assert(counted.reads >= 2)
    counted.reads = 0
    assert(queue.poll(PollLimits(10, 1000000)).records.size == 2 && counted.reads == 0)
    (2 until 5).foreach(i => t.append("a", t.dataFile(s"a$i")))
    val urgent = restMillis(leftOver = 2)
    assert(urgent >= 200 && urgent < 2500, "the duty cycle is kept")
    assert(restMillis(leftOver = 3) >= 2999, "records that stay in the queue make no commit urgent")
  }

  test("problems are logged when they begin, and not with every pass") {
    val t = IngestTables.hadoop()
    t.append("a", t.dataFile("a0"))
    val alarms = new Alarms("events", IngestSettings(heldAlarmMillis = 1000, oldestAlarmMillis = 1000))
    val now = System.currentTimeMillis() + 60000
    val held = HeldRecord("a", 3, HoldCause.Missing(2), now - 5000)
    val result =
      PassResult("main", PassOutcome.Stopped("state-lost", "Cannot go on"), Nil, Seq(held), 1, more = false)
    val logged = zonemap.iceberg.testing.LoggedWarnings.of("zonemap.ingest") {
      (0 until 3).foreach(_ => alarms.check(Seq(result), t.target.queue.stats().oldestMillis, now))
    }
    assert(logged.size == 3, logged)
    assert(logged.exists(_ == "Cannot go on") && logged.exists(_.contains("waits for record 2")))
    assert(t.target.queue.stats().records == 1)
  }
}
