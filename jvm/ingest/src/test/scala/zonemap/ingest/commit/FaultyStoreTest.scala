// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import java.lang.reflect.{InvocationHandler, Proxy}
import java.util.concurrent.atomic.AtomicInteger

import scala.util.control.ControlThrowable

import org.apache.kafka.common.errors.InterruptException
import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.{FaultyTarget, IngestTable, IngestTables}
import zonemap.ingest.admin.IngestAdmin
import zonemap.ingest.loop.CommitLoop
import zonemap.ingest.queue.{CommitQueue, SpoolNames}
import zonemap.ingest.record.ShortText
import zonemap.ingest.table.{IngestTarget, RefusalCode}
import zonemap.ingest.write.LaneWriter

/** A store that fails for one record holds the lane of this record, and no other. */
class FaultyStoreTest extends AnyFunSuite {

  /** A table with two lanes of two records each, whose files are old enough to be checked. */
  private def filled(settings: IngestSettings = IngestSettings()): (IngestTable, FaultyTarget) = {
    val t = IngestTables.hadoop(settings = settings)
    Seq("a", "b").foreach { lane =>
      val writer = t.lane(lane)
      (0 until 2).foreach(i => t.append(writer, t.dataFile(s"$lane$i")))
    }
    t.clock.forward(3600 * 1000)
    (t, new FaultyTarget(t))
  }

  private def problemOf(t: IngestTable, faulty: FaultyTarget): String =
    new IngestAdmin(faulty.target, t.settings, t.clock).status().problem

  private def quarantined(t: IngestTable): Seq[(String, Long, String)] = {
    val quarantine = new Quarantine(t.target.files)
    quarantine.names().map(n => (n.lane, n.seq, quarantine.reason(n).get.code))
  }

  private def committer(t: IngestTable, faulty: FaultyTarget) = new Committer(faulty.target, t.settings, t.clock)

  test("a data file that cannot be checked holds its lane, until the store answers") {
    val (t, faulty) = filled()
    faulty.data.refused += "a0.parquet"
    val result = committer(t, faulty).pass().head
    assert(t.live() == Seq("b0", "b1") && quarantined(t).isEmpty)
    assert(result.held.map(h => (h.lane, h.seq)) == Seq(("a", 0L)) && result.refused.isEmpty)
    assert(problemOf(t, faulty).contains("record 0 of lane 'a' waits because its data file"))
    faulty.data.refused.clear()
    committer(t, faulty).pass()
    assert(t.live() == Seq("a0", "a1", "b0", "b1") && problemOf(t, faulty).isEmpty)
  }

  test("a file that is missing refuses its record, even if another file of the record cannot be checked") {
    val t = IngestTables.hadoop(settings = IngestSettings(quarantineMillis = 0))
    t.append("a", t.dataFile("a0"), t.dataFile("gone"))
    t.clock.forward(3600 * 1000)
    t.io.deleteFile(s"${t.table.location()}/data/gone.parquet")
    val faulty = new FaultyTarget(t)
    faulty.data.refused += "a0.parquet"
    committer(t, faulty).pass()
    assert(quarantined(t) == Seq(("a", 0L, RefusalCode.MissingFile)))
  }

  test("only the files of the batch are checked") {
    val (t, faulty) = filled(IngestSettings(maxFilesPerCommit = 1))
    committer(t, faulty).pass()
    assert(faulty.data.asked.distinct.size == 1 && t.live().size == 1)
  }

  test("a record that is refused makes room for the next one, whose file is then checked") {
    val (t, faulty) = filled(IngestSettings(maxFilesPerCommit = 2))
    t.io.deleteFile(s"${t.table.location()}/data/a0.parquet")
    t.io.deleteFile(s"${t.table.location()}/data/b0.parquet")
    committer(t, faulty).pass()
    assert(t.live() == Seq("a1", "b1") && faulty.data.asked.distinct.size == 4)
  }

  Seq(("read", "pending/a/"), ("list", "a")).foreach { case (operation, path) =>
    test(s"a lane whose store fails to $operation waits, and the others go on") {
      val (t, faulty) = filled()
      faulty.files.refused += operation -> path
      val result = committer(t, faulty).pass().head
      assert(t.live() == Seq("b0", "b1") && result.held.map(_.lane) == Seq("a") && quarantined(t).isEmpty)
      assert(problemOf(t, faulty).contains("lane 'a' waits because"))
      faulty.files.refused.clear()
      committer(t, faulty).pass()
      assert(t.live() == Seq("a0", "a1", "b0", "b1") && t.target.queue.names().isEmpty)
    }
  }

  test("a committed record that the store does not read holds its lane with a report, until it leaves the queue") {
    val (t, faulty) = filled()
    faulty.files.refused += "delete" -> "pending/"
    committer(t, faulty).pass()
    t.append("a", t.dataFile("a2"))
    val unread = new FaultyTarget(t)
    val a0 = t.target.queue.pendingOf("a").head.name
    unread.files.refused += "read" -> SpoolNames.record(SpoolNames.Pending, a0.lane, a0.seq, a0.nonce)
    val second = committer(t, unread)
    assert(second.pass().head.held.map(h => (h.lane, h.seq)) == Seq(("a", 0L)))
    assert(t.live() == Seq("a0", "a1", "b0", "b1"))
    assert(second.pass().head.held.isEmpty && t.live() == Seq("a0", "a1", "a2", "b0", "b1"))
  }

  test("committed records that cannot be deleted neither stop nor double anything, and leave when they can") {
    val (t, faulty) = filled(IngestSettings(maxRecordsPerCommit = 4))
    faulty.files.refused += "delete" -> "pending/"
    val first = committer(t, faulty)
    first.pass()
    t.append("c", t.dataFile("c0"))
    val result = first.pass().head
    assert(t.live() == Seq("a0", "a1", "b0", "b1", "c0") && result.undeleted.size == 4)
    t.append("c", t.dataFile("c1"))
    val second = new Committer(new FaultyTarget(t).target, t.settings, t.clock) // it remembers nothing
    second.drain(10000)
    assert(t.live() == Seq("a0", "a1", "b0", "b1", "c0", "c1"))
    assert(problemOf(t, faulty).isEmpty && t.target.queue.names().isEmpty)
  }

  test("records that cannot be deleted are an alarm of the status") {
    val (t, faulty) = filled()
    faulty.files.refused += "delete" -> "pending/"
    val first = committer(t, faulty)
    (0 until 2).foreach(_ => first.pass())
    assert(problemOf(t, faulty).contains("4 records are committed or refused and stay in the queue"))
    faulty.files.refused.clear()
    (0 until 2).foreach(_ => first.pass())
    assert(t.target.queue.names().isEmpty && problemOf(t, faulty).isEmpty)
  }

  test("a store that confirms deletes and keeps the records stops and doubles nothing, and is an alarm of the status") {
    val (t, faulty) = filled(IngestSettings(maxRecordsPerCommit = 4))
    faulty.files.keepsDeleted = true
    val first = committer(t, faulty)
    first.pass()
    first.pass()
    t.append("c", t.dataFile("c0"))
    val result = first.pass().head
    assert(t.live() == Seq("a0", "a1", "b0", "b1", "c0") && result.undeleted.size == 4 && !result.more)
    val problem = problemOf(t, faulty)
    assert(problem.contains("4 records are committed or refused and stay in the queue"), problem)
    assert(problem.contains("confirms its deletion and still lists it"), problem)
    faulty.files.keepsDeleted = false
    (0 until 3).foreach(_ => first.pass())
    assert(t.target.queue.names().isEmpty && problemOf(t, faulty).isEmpty)
  }

  Seq[(String, FaultyTarget => Unit)](
    "refuses deletes" -> (_.files.refused += "delete" -> "pending/b/"),
    "confirms deletes and keeps the records" -> (_.files.keepsDeleted = true)
  ).foreach { case (store, fail) =>
    test(s"a store that $store: a record whose commit was rolled back is committed again after a reset") {
      val t = IngestTables.hadoop()
      val faulty = new FaultyTarget(t)
      val first = committer(t, faulty)
      t.append("a", t.dataFile("a0"))
      first.pass()
      t.table.refresh()
      val before = t.table.currentSnapshot().snapshotId()
      fail(faulty)
      t.append("b", t.dataFile("b0"))
      (0 until 3).foreach(_ => first.pass())
      assert(t.live() == Seq("a0", "b0") && first.pass().head.undeleted.map(_.name.lane) == Seq("b"))
      t.table.manageSnapshots().rollbackTo(before).commit()
      new IngestAdmin(faulty.target, t.settings, t.clock).reset("main", Map("b" -> -1L), forgetKnown = false)
      first.pass()
      assert(t.live() == Seq("a0", "b0"))
    }
  }

  test("a refused record that quarantine does not take stays listed until it is there") {
    val t = IngestTables.hadoop(settings = IngestSettings(quarantineMillis = 0))
    t.append("a", t.dataFile("a0"))
    t.io.deleteFile(s"${t.table.location()}/data/a0.parquet")
    t.clock.forward(3600 * 1000)
    val faulty = new FaultyTarget(t)
    faulty.files.refused += "create" -> "quarantine/"
    committer(t, faulty).pass()
    faulty.files.refused += "read" -> "pending/a/"
    t.append("b", t.dataFile("b0"))
    committer(t, faulty).pass()
    faulty.files.refused.clear()
    t.append("c", t.dataFile("c0"))
    committer(t, faulty).pass()
    assert(quarantined(t) == Seq(("a", 0L, RefusalCode.MissingFile)) && t.live() == Seq("b0", "c0"))
    assert(t.target.queue.names().isEmpty)
  }

  test("a large record that waits does not keep the others out of the polls") {
    val t = IngestTables.hadoop(settings = IngestSettings(maxBytesPerCommit = 1))
    val files = Seq(t.dataFile("a0"))
    t.append("a", files: _*)
    val a0 = t.target.queue.pendingOf("a").head
    t.append("a", t.dataFile("a1"))
    t.target.queue.settle(Seq(a0.name))
    t.append("b", t.dataFile("b0"))
    val committer = new Committer(t.target, t.settings, t.clock)
    (0 until 2).foreach(_ => committer.pass())
    assert(t.live() == Seq("b0"))
    t.target.files.create(zonemap.ingest.queue.SpoolNames.record("pending", "a", 0, a0.name.nonce), a0.bytes)
    (0 until 2).foreach(_ => committer.pass())
    assert(t.live() == Seq("a0", "a1", "b0"))
  }

  test("an append that fails is repeated, and fails after some repeats") {
    val t = IngestTables.hadoop()
    val faulty = new FaultyTarget(t)
    val writer = LaneWriter.open(faulty.target, t.settings, "main", "a", "test")
    faulty.files.failing("create") = 2
    writer.append(0, Seq(t.dataFile("a0")), System.currentTimeMillis())
    faulty.files.refused += "create" -> "pending/"
    intercept[java.io.IOException](writer.append(1, Seq(t.dataFile("a1")), System.currentTimeMillis()))
    faulty.files.refused.clear()
    writer.append(1, Seq(t.dataFile("a1")), System.currentTimeMillis())
    t.pass()
    assert(t.live() == Seq("a0", "a1") && quarantined(t).isEmpty)
  }

  test("reasons are cut") {
    val t = IngestTables.hadoop(settings = IngestSettings(quarantineMillis = 0))
    val writer = LaneWriter.open(t.target, t.settings, "main", "a", "test")
    writer.append(0, Seq(t.dataFile("a0")), System.currentTimeMillis())
    t.clock.forward(3600 * 1000)
    val faulty = new FaultyTarget(t)
    faulty.data.refused += "a0.parquet"
    val long = "x" * 5000
    faulty.data.reason = long
    committer(t, faulty).pass()
    val problem = problemOf(t, faulty)
    assert(problem.contains("xxx") && problem.length <= ShortText.MaxLength)
    assert(ShortText.of("a" * 996 + "\ud83d\ude00" * 10).length == 999)
  }

  test("an interruption of its thread does not end a loop") {
    val t = IngestTables.hadoop()
    val loop = new CommitLoop(Seq("interrupted" -> (() => t.target)), IngestSettings(intervalMillis = 0), t.clock)
    loop.start()
    try {
      val thread = threadOf("interrupted")
      (0 until 3).foreach { i =>
        thread.interrupt()
        t.append("a", t.dataFile(s"a$i"))
        loop.ring("interrupted")
        waitFor(t.live().size == i + 1)
      }
      waitFor(loop.status.head.problem.isEmpty)
      assert(!loop.status.head.isEnded)
    } finally assert(loop.stop(5000))
  }

  test("a loop closes each queue that it opens, also if a pass fails, and a close that fails does not end it") {
    val t = IngestTables.hadoop()
    val (opened, closed) = (new AtomicInteger, new AtomicInteger)
    def target(): IngestTarget = {
      val original = t.target
      opened.incrementAndGet()
      val failing: InvocationHandler = (_, method, arguments) =>
        method.getName match {
          case "poll" => throw new IllegalStateException("no poll")
          case "close" =>
            closed.incrementAndGet()
            throw new InterruptException(new InterruptedException("close"))
          case _ => method.invoke(original.queue, Option(arguments).getOrElse(Array.empty[AnyRef]): _*)
        }
      val queue = Proxy.newProxyInstance(getClass.getClassLoader, Array[Class[_]](classOf[CommitQueue]), failing)
      new IngestTarget("leaking", original.table, queue.asInstanceOf[CommitQueue], original.files)
    }
    val loop =
      new CommitLoop(Seq("leaking" -> (() => target())), IngestSettings(intervalMillis = 0, pollMillis = 10), t.clock)
    loop.start()
    waitFor(opened.get() >= 3)
    assert(!loop.status.head.isEnded && loop.stop(5000))
    waitFor(opened.get() == closed.get())
  }

  test("memory that is short while the queue is read ahead does not end a loop") {
    val t = IngestTables.hadoop()
    val original = t.target
    val readAhead = new AtomicInteger
    val failing: InvocationHandler = (_, method, arguments) =>
      if (method.getName == "readAhead") {
        readAhead.incrementAndGet()
        throw new OutOfMemoryError("Java heap space")
      } else method.invoke(original.queue, Option(arguments).getOrElse(Array.empty[AnyRef]): _*)
    val queue = Proxy
      .newProxyInstance(getClass.getClassLoader, Array[Class[_]](classOf[CommitQueue]), failing)
      .asInstanceOf[CommitQueue]
    val target = new IngestTarget("short", original.table, queue, original.files)
    val settings = IngestSettings(intervalMillis = 1000, pollMillis = 10)
    val loop = new CommitLoop(Seq("short" -> (() => target)), settings, t.clock)
    var appended = 0
    def append(): Unit = {
      t.append("a", t.dataFile(s"a$appended"))
      appended += 1
    }
    loop.start()
    try {
      // After a commit that takes as long as the interval, the loop does not read ahead.
      waitFor {
        append()
        readAhead.get() > 0
      }
      append()
      waitFor(t.live().size == appended)
      assert(!loop.status.head.isEnded)
    } finally assert(loop.stop(5000))
  }

  test("a loop that ends by a fatal error shows it") {
    val loop =
      new CommitLoop(
        Seq("fatal" -> (() => throw new ControlThrowable {})),
        IngestSettings(),
        java.time.Clock.systemUTC())
    loop.start()
    waitFor(loop.status.head.isEnded)
    assert(loop.status.head.problem.nonEmpty && loop.stop(1000))
  }

  private def threadOf(name: String): Thread = {
    import scala.jdk.CollectionConverters._
    Thread.getAllStackTraces.keySet().asScala.find(_.getName == s"zonemap-ingest-$name").get
  }

  private def waitFor(condition: => Boolean): Unit = {
    val end = System.nanoTime() + 20L * 1000 * 1000 * 1000
    while (!condition && System.nanoTime() < end) Thread.sleep(20)
    assert(condition)
  }
}
