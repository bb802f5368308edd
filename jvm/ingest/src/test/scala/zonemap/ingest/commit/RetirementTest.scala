// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import java.nio.file.{Files, Path}
import java.nio.file.attribute.FileTime

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.{IngestTable, IngestTables}
import zonemap.ingest.admin.{IngestAdmin, Visibility}
import zonemap.ingest.queue.{Poll, Receipt}
import zonemap.ingest.record.LaneName
import zonemap.ingest.table._
import zonemap.ingest.write.LaneWriter

/** Lanes whose names were drawn leave the state; a record of such a lane is committed once, or refused and reported. */
class RetirementTest extends AnyFunSuite with Retiring {

  /** Appends to a lane that is drawn anew, and commits. */
  private def once(t: IngestTable, file: String, branch: String = "main"): Receipt = {
    val receipt = t.append(t.draw(branch), t.dataFile(file))
    assert(passes(t).exists(r => r.branch == branch && r.isCommit))
    receipt
  }

  private def recordOf(t: IngestTable, receipt: Receipt): Path =
    t.root.resolve(f"pending/${receipt.lane}/${receipt.seq}%020d-${receipt.nonce}.rec")

  private def deliver(path: Path, bytes: Array[Byte]): Unit = {
    Files.createDirectories(path.getParent)
    Files.write(path, bytes): Unit
  }

  private def quarantined(t: IngestTable): Seq[(String, String)] =
    new IngestAdmin(t.target, t.settings, t.clock).quarantined().map(q => q.lane -> q.code)

  private def commitRefused(t: IngestTable): Unit = {
    t.clock.forward(2 * 60 * 1000)
    (0 until 2).foreach(_ => passes(t))
  }

  private def live(t: IngestTable, branch: String = "main"): Seq[String] =
    t.live(branch).filterNot(_.startsWith("tick"))

  private def audited(): IngestTable = {
    val t = IngestTables.hadoop()
    once(t, "a0")
    t.reload().manageSnapshots().createBranch("audit").commit()
    t
  }

  test("a state lists a drawn lane for two hours after it was drawn, and a lane with a name for ever") {
    val t = IngestTables.hadoop()
    val receipt = once(t, "a0")
    (0 until 2).foreach(_ => tick(t))
    t.clock.forward(2 * Hour - 60000)
    (0 until 2).foreach(_ => tick(t))
    assert(state(t).lanes.contains(receipt.lane) && state(t).retired == -1)
    t.clock.forward(10 * 60000)
    (0 until 2).foreach(_ => tick(t))
    assert(state(t).lanes.keySet == Set("tick-main") && state(t).retired >= 0 && live(t) == Seq("a0"))
  }

  test("a record of a retired lane that is delivered again is quarantined and not committed") {
    val t = IngestTables.hadoop()
    val receipt = t.append(t.draw(), t.dataFile("a0"))
    val (path, bytes) = (recordOf(t, receipt), Files.readAllBytes(recordOf(t, receipt)))
    assert(passes(t).head.isCommit)
    retire(t)
    t.reload().manageSnapshots().rollbackTo(t.reload().currentSnapshot().parentId()).commit()
    deliver(path, bytes)
    commitRefused(t)
    assert(quarantined(t) == Seq(receipt.lane -> RefusalCode.Late))
    assert(live(t) == Seq("a0") && !state(t).lanes.contains(receipt.lane))
  }

  test("a damaged record of a retired lane does not bring the lane back") {
    val t = IngestTables.hadoop()
    val receipt = t.append(t.draw(), t.dataFile("a0"))
    val (path, bytes) = (recordOf(t, receipt), Files.readAllBytes(recordOf(t, receipt)))
    assert(passes(t).head.isCommit)
    retire(t)
    deliver(path, bytes.dropRight(1))
    commitRefused(t)
    deliver(path, bytes)
    commitRefused(t)
    assert(quarantined(t) == Seq(receipt.lane -> "damaged"))
    assert(live(t).count(_ == "a0") == 1 && !state(t).lanes.contains(receipt.lane))
  }

  test("a producer that hangs after it drew its lane is refused, and its record can be appended again") {
    val t = IngestTables.hadoop()
    once(t, "a0")
    val hanging = t.draw()
    retire(t)
    val receipt = t.append(hanging, t.dataFile("h0"))
    commitRefused(t)
    assert(quarantined(t) == Seq(hanging.lane -> RefusalCode.Late) && !live(t).contains("h0"))
    val admin = new IngestAdmin(t.target, t.settings, t.clock)
    assert(admin.visibility(receipt).asInstanceOf[Visibility.Quarantined].code == RefusalCode.Late)
    admin.requeue(hanging.lane, receipt.seq)
    assert(admin.visibility(receipt) == Visibility.Pending)
    assert(passes(t).head.isCommit && live(t).contains("h0"))
    assert(admin.visibility(receipt) == Visibility.Visible)
  }

  test("a record that waits for its predecessor keeps its lane, and no other one") {
    val t = IngestTables.hadoop()
    val waiting = t.draw()
    val gone = t.append(waiting, t.dataFile("w0"))
    Files.move(recordOf(t, gone), t.root.resolve("moved"))
    t.append(waiting, t.dataFile("w1"))
    once(t, "a0")
    (0 until 2).foreach(_ => retire(t))
    assert(state(t).retired >= 0 && state(t).lanes.keySet == Set("tick-main", waiting.lane))
    Files.move(t.root.resolve("moved"), recordOf(t, gone))
    assert(passes(t).head.isCommit && Set("w0", "w1").subsetOf(live(t).toSet))
    retire(t)
    assert(state(t).lanes.keySet == Set("tick-main") && quarantined(t).isEmpty)
  }

  test("a poll that leaves out records retires no lane") {
    val t = IngestTables.hadoop(settings = IngestSettings(maxRecordsPerCommit = 1))
    once(t, "a0")
    (0 until 2).foreach(_ => tick(t))
    t.clock.forward(3 * Hour)
    tick(t)
    (0 until 4).foreach(i => t.append("more", t.dataFile(s"more$i")))
    (0 until 3).foreach(_ => passes(t))
    assert(state(t).retired == -1 && state(t).lanes.size == 3)
    passes(t)
    assert(state(t).retired >= 0 && state(t).lanes.size == 2)
  }

  test("a committer that is suspended between two steps of its pass retires no lane that was in use meanwhile") {
    Seq[(String, PassState => Boolean)](
      "before the poll" -> (_.isInstanceOf[PassState.Loaded]),
      "before the commit is planned" -> (_.isInstanceOf[PassState.Settled]),
      "before the state is written" -> (_.isInstanceOf[PassState.Planned]),
      "before the commit is sent" -> (_.isInstanceOf[PassState.Sending])
    ).foreach { case (place, isThere) =>
      val t = IngestTables.hadoop()
      (0 until 2).foreach(i => once(t, s"a$i"))
      val lane = t.draw()
      t.append(lane, t.dataFile("b0"))
      (0 until 3).foreach(_ => passes(t))
      t.append("tick-main", t.dataFile("tick-0"))
      val target = t.target
      val environment = new PassEnvironment {
        override def nowMillis(): Long = t.clock.millis()
        override def pause(attempts: Int): Unit = ()
      }
      val catalog = new IcebergIngestCatalog(target.name, target.operations)
      val pass = new CommitPass("main", catalog, target.queue, target.files, t.settings, environment)
      val suspended = Iterator.iterate[PassState](PassState.Begin)(pass.step).find(isThere).get
      stamp(t)
      t.clock.forward(3 * Hour)
      val drawn = t.draw()
      t.append(lane, t.dataFile("b1"))
      val end = Iterator.iterate(suspended)(pass.step).collectFirst { case done: PassState.Done => done }.get
      assert(end.result.isCommit, place)
      stamp(t)
      passes(t)
      tick(t)
      t.append(drawn, t.dataFile("c0"))
      commitRefused(t)
      assert(quarantined(t).isEmpty && live(t) == Seq("a0", "a1", "b0", "b1", "c0"), place)
    }
  }

  test("each branch retires its own lanes by its own states, whatever numbers the lanes of other branches have") {
    val t = audited()
    (0 until 6).foreach(_ => tick(t, "audit"))
    val dropped = t.append(t.draw("audit"), t.dataFile("d0"))
    t.reload().manageSnapshots().removeBranch("audit").commit()
    commitRefused(t)
    assert(quarantined(t) == Seq(dropped.lane -> RefusalCode.UnknownBranch))
    assert(LaneName.drawnAt(dropped.lane).exists(_ > state(t).pointer.no) && state(t).lanes.contains(dropped.lane))
    retire(t)
    val drawn = t.draw()
    (0 until 3).foreach(_ => tick(t))
    t.append(drawn, t.dataFile("b0"))
    passes(t)
    assert(live(t) == Seq("a0", "b0") && state(t).retired < state(t).pointer.no - 3)
  }

  test("the commits of one branch retire no lane of another branch") {
    val t = audited()
    val audit = t.draw("audit")
    t.append(audit, t.dataFile("d0"))
    passes(t)
    (0 until 3).foreach(_ => retire(t))
    assert(state(t).retired >= LaneName.drawnAt(audit.lane).get && state(t, "audit").retired == -1)
    t.append(audit, t.dataFile("d1"))
    t.append(t.draw("audit"), t.dataFile("e0"))
    passes(t)
    assert(Set("d0", "d1", "e0").subsetOf(live(t, "audit").toSet) && quarantined(t).isEmpty)
  }

  test("a later record of a lane that another branch has retired is refused there, and held nowhere") {
    val t = audited()
    val lane = t.draw("audit")
    t.append(lane, t.dataFile("d0"))
    val second = t.append(lane, t.dataFile("d1"))
    val (path, bytes) = (recordOf(t, second), Files.readAllBytes(recordOf(t, second)))
    passes(t)
    retire(t, "audit")
    deliver(path, bytes)
    t.clock.forward(20 * 60 * 1000)
    assert(passes(t).forall(_.held.isEmpty))
    passes(t)
    assert(quarantined(t) == Seq(lane.lane -> RefusalCode.Late) && !state(t).lanes.contains(lane.lane))
    assert(live(t, "audit").count(_.startsWith("d")) == 2)
  }

  test("a damaged record of another branch leaves a hole, although its number is retired in this branch") {
    val t = audited()
    (0 until 2).foreach(_ => retire(t))
    val lane = t.draw("audit")
    assert(LaneName.drawnAt(lane.lane).get <= state(t).retired)
    val receipt = t.append(lane, t.dataFile("d0"))
    val path = recordOf(t, receipt)
    Files.write(path, Files.readAllBytes(path).dropRight(1))
    commitRefused(t)
    assert(quarantined(t) == Seq(lane.lane -> "damaged"))
    t.append(lane, t.dataFile("d1"))
    passes(t)
    assert(live(t, "audit").contains("d1") && t.target.queue.names().isEmpty)
    retire(t, "audit")
    retire(t)
    assert((state(t).lanes.keySet ++ state(t, "audit").lanes.keySet).forall(_.startsWith("tick")))
  }

  test("a receipt says what became of a record that a person has taken out of quarantine") {
    val t = IngestTables.hadoop()
    once(t, "a0")
    val (one, two) = (t.draw(), t.draw())
    retire(t)
    val late = Seq(one, two).map(lane => t.append(lane, t.dataFile(s"late-${lane.lane.takeRight(8)}")))
    commitRefused(t)
    val admin = new IngestAdmin(t.target, t.settings, t.clock)
    admin.discard(one.lane, 0)
    Files.delete(Path.of(t.table.location(), "data", s"late-${two.lane.takeRight(8)}.parquet"))
    t.clock.forward(Hour)
    admin.requeue(two.lane, 0)
    commitRefused(t)
    def code(receipt: Receipt) = admin.visibility(receipt) match {
      case Visibility.Quarantined(code, _) => code
      case other                           => other.toString
    }
    assert(late.map(code) == Seq(RefusalCode.Discarded, RefusalCode.MissingFile))
    assert(admin.quarantined().map(_.lane.takeWhile(_ != '-')) == Seq("requeue"))
  }

  test("a receipt of a retired lane is visible; a number alone is unknown") {
    val t = IngestTables.hadoop()
    val receipt = once(t, "a0")
    retire(t)
    val admin = new IngestAdmin(t.target, t.settings, t.clock)
    assert(admin.visibility(receipt) == Visibility.Visible)
    assert(admin.visibility(receipt.copy(nonce = "")) == Visibility.Unknown)
  }

  test("a receipt of a repeated append is that of the append, so it is visible after its lane is retired") {
    val t = IngestTables.hadoop()
    once(t, "a0")
    val lane = t.draw()
    val receipts = Seq.fill(2)(lane.append(0, Seq(t.dataFile("b0")), System.currentTimeMillis()))
    passes(t)
    retire(t)
    val admin = new IngestAdmin(t.target, t.settings, t.clock)
    assert(receipts.map(admin.visibility) == Seq(Visibility.Visible, Visibility.Visible) && receipts.distinct.size == 1)
  }

  test("a producer does not open a lane whose name another one has drawn") {
    val t = IngestTables.hadoop()
    val error = intercept[IllegalArgumentException](t.lane(t.draw().lane))
    assert(error.getMessage.contains("draws a name of this form"))
    assert(Seq("drawn-1", "drawn-01-" + "0" * 32, "drawn-1-" + "A" * 32).forall(LaneName.drawnAt(_).isEmpty))
  }

  test("a producer uses a drawn lane for half an hour by each of its clocks") {
    val t = IngestTables.hadoop()
    Seq(0, 1).foreach { moving =>
      val clocks = mutable.Seq(1000L, 2000L)
      val lane = LaneWriter.draw(t.target, t.settings, "main", "test", () => clocks.toSeq)
      t.append(lane, t.dataFile(s"a$moving"))
      clocks(moving) += Hour / 2
      val error = intercept[IllegalArgumentException](t.append(lane, t.dataFile("b")))
      assert(error.getMessage.contains("was drawn 30 minutes ago"))
    }
    passes(t)
    assert(live(t) == Seq("a0", "a1"))
  }

  test("a reset keeps what is retired, and names no watermark of a retired lane") {
    val t = IngestTables.hadoop()
    val receipt = once(t, "a0")
    retire(t)
    val admin = new IngestAdmin(t.target, t.settings, t.clock)
    val before = state(t)
    val error = intercept[IllegalArgumentException](admin.reset("main", Map(receipt.lane -> 3L), forgetKnown = false))
    assert(error.getMessage.contains("is retired"))
    admin.reset("main", Map("gateway" -> 3L), forgetKnown = false)
    assert(state(t).retired == before.retired && state(t).times == before.times)
  }

  test("a state of an earlier release is read and written anew, and its drawn lanes are retired") {
    val t = IngestTables.hadoop()
    val old = "drawn-0-" + "0123456789abcdef" * 2
    val receipt = once(t, "a0")
    val path = t.root.resolve(state(t).pointer.statePath)
    val before = StateFile.decode(Files.readAllBytes(path)).toOption.get
    Files.write(path, StateFile.encode(before.copy(lanes = before.lanes + (old -> Watermark(0, 1)), times = Nil)))
    Files.setLastModifiedTime(path, FileTime.fromMillis(t.clock.millis()))
    retire(t)
    assert(state(t).lanes.keySet == Set("tick-main", old) && !state(t).lanes.contains(receipt.lane))
  }

  test("a state has format 2 only after it has retired a lane, so that earlier releases read it until then") {
    val t = IngestTables.hadoop()
    def format = "\"format\":([0-9])".r
      .findFirstMatchIn(new String(t.target.files.read(state(t).pointer.statePath, StateFile.MaxBytes).get))
      .map(_.group(1))
    once(t, "a0")
    assert(format.contains("1"))
    retire(t)
    assert(format.contains("2") && state(t).retired >= 0)
    assert(StateFile.decode(StateFile.encode(state(t))) == Right(state(t)))
  }

  /** The lanes whose names begin so, and the bytes that each of them takes in the state. */
  private def kept(t: IngestTable, prefix: String): (Int, Double) = {
    val now = state(t)
    val lanes = now.lanes.filter(_._1.startsWith(prefix))
    val without = StateFile.encode(now.copy(lanes = now.lanes -- lanes.keys)).length
    (lanes.size, (StateFile.encode(now).length - without).toDouble / lanes.size)
  }

  test("a call of a person leaves one lane and one reason, and a dropped branch a lane of each writer at work") {
    val t = audited()
    val hanging = Seq.fill(5)(t.draw())
    retire(t)
    hanging.foreach(lane => t.append(lane, t.dataFile(s"late-${lane.lane.takeRight(8)}")))
    commitRefused(t)
    val admin = new IngestAdmin(t.target, t.settings, t.clock)
    def records = Files.walk(t.root.resolve("quarantine")).iterator().asScala.filter(Files.isRegularFile(_)).toSeq
    val quarantine = records.filter(_.toString.endsWith(".rec")).map(path => path -> Files.readAllBytes(path))
    (0 until 3).foreach { _ =>
      quarantine.foreach { case (path, bytes) => deliver(path, bytes) } // a call that died half-way
      hanging.foreach(lane => admin.requeue(lane.lane, 0))
      passes(t)
    }
    retire(t)
    val (requeued, requeuedBytes) = kept(t, "requeue-")
    assert(quarantine.size == 5 && requeued == 5 && requeuedBytes < 100 && live(t).count(_.startsWith("late")) == 5)
    assert(records.size == 5 && records.forall(path => path.toString.endsWith(".why") && Files.size(path) < 500))

    val writers = Seq.fill(5)(t.draw("audit"))
    for { lane <- writers; i <- 0 until 3 } t.append(lane, t.dataFile(s"${lane.lane.takeRight(8)}-$i"))
    t.reload().manageSnapshots().removeBranch("audit").commit()
    commitRefused(t)
    (0 until 2).foreach(_ => retire(t))
    val (dropped, droppedBytes) = kept(t, "drawn-")
    println(
      f"RetirementTest: $requeuedBytes%.0f bytes a requeued record, $droppedBytes%.0f a writer of a dropped branch")
    assert(dropped == 5 && droppedBytes < 100 && state(t).lanes.size == 1 + requeued + dropped)
  }

  test("a hundred thousand lanes of one record, over a day, leave a small state") {
    val pointer = IngestPointer(1, "0" * 16, "q", "u")
    val start = LaneState(pointer, "main", None, -1, Map.empty, Nil, CommittedTotals(0, 0, 0, 0))
    val (perCommit, pause) = (6, 5000L)
    val commits = (24 * Hour / pause).toInt
    val before = System.nanoTime()
    val end = (0 until commits).foldLeft(start) { (state, i) =>
      val no = state.pointer.no
      val lanes = state.lanes ++ Seq.fill(perCommit)(LaneName.draw(no, "main") -> Watermark(0, i * pause))
      val next = Retirement.of(
        BranchStates("main", None, Some(state), Nil),
        lanes,
        Poll(Nil, complete = true),
        IngestSettings().laneRetentionMillis,
        i * pause,
        _ => Some(i * pause))
      state.copy(pointer = pointer.copy(no = no + 1), lanes = next.lanes, retired = next.upTo, times = next.times)
    }
    val bytes = StateFile.encode(end).length
    println(
      s"RetirementTest: ${end.lanes.size} lanes and ${end.times.size} times in $bytes bytes after " +
        s"${perCommit * commits} lanes, ${(System.nanoTime() - before) / commits / 1000} us a commit")
    assert(bytes < 1000000 && end.lanes.size < 10000 && end.lanes.size > 8000 && end.times.size < 30)
  }
}
