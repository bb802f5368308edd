package zonemap.ingest.commit

import java.nio.file.{Files, Path}
import java.nio.file.attribute.FileTime
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.{IngestTable, IngestTables}
import zonemap.ingest.admin.{IngestAdmin, Visibility}
import zonemap.ingest.gc.IngestGc
import zonemap.ingest.queue.{Poll, Receipt}
import zonemap.ingest.record.LaneName
import zonemap.ingest.table._
import zonemap.ingest.write.LaneWriter

/** Lanes whose names were drawn leave the state; a record of such a lane is committed once, or refused and reported. */
class RetirementTest extends AnyFunSuite {
  private val retiring = IngestSettings(laneRetentionMillis = Some(2 * 3600 * 1000))
  private val Hour = 3600 * 1000L

  private def state(t: IngestTable, branch: String = "main"): LaneState = {
    val catalog = new IcebergIngestCatalog(t.target.name, t.target.operations)
    BranchStates.load(catalog, branch, t.target.files, t.target.queue.identity)._2.own.get
  }

  /** Appends to a lane that is drawn anew, and commits. */
  private def once(t: IngestTable, file: String): LaneWriter = {
    val lane = t.draw()
    t.append(lane, t.dataFile(file))
    assert(t.pass().isCommit)
    lane
  }

  /** Lets the lanes so far be idle, and commits something else. */
  private def retire(t: IngestTable): Unit = {
    t.clock.forward(3 * Hour)
    once(t, s"retire-${t.clock.millis()}"): Unit
  }

  private def recordOf(t: IngestTable, receipt: Receipt): Path =
    t.root.resolve(f"pending/${receipt.lane}/${receipt.seq}%020d-${receipt.nonce}.rec")

  private def quarantined(t: IngestTable): Seq[(String, String)] =
    new IngestAdmin(t.target, t.settings, t.clock).quarantined().map(q => q.lane -> q.code)

  private def commitRefused(t: IngestTable): Unit = {
    t.clock.forward(2 * 60 * 1000)
    (0 until 2).foreach(_ => t.passes())
  }

  test("a state lists a drawn lane for two hours after its last record, and a lane with a name for ever") {
    val t = IngestTables.hadoop(settings = retiring)
    t.append("gateway", t.dataFile("g0"))
    val first = once(t, "a0")
    t.clock.forward(Hour)
    t.append(first, t.dataFile("a1"))
    once(t, "b0")
    t.clock.forward(Hour + 60000)
    once(t, "c0")
    assert(state(t).lanes.contains(first.lane) && state(t).retired == -1)
    retire(t)
    assert(state(t).lanes.keySet.filter(LaneName.drawnAt(_).isEmpty) == Set("gateway"))
    assert(state(t).lanes.size == 2 && state(t).retired >= 0 && t.live().size == 6)
  }

  test("a record of a retired lane that is delivered again is quarantined and not committed") {
    val t = IngestTables.hadoop(settings = retiring)
    val lane = t.draw()
    val receipt = t.append(lane, t.dataFile("a0"))
    val (path, bytes) = (recordOf(t, receipt), Files.readAllBytes(recordOf(t, receipt)))
    assert(t.pass().isCommit)
    retire(t)
    t.reload().manageSnapshots().rollbackTo(t.reload().currentSnapshot().parentId()).commit()
    Files.createDirectories(path.getParent)
    Files.write(path, bytes)
    commitRefused(t)
    assert(quarantined(t) == Seq(receipt.lane -> RefusalCode.Late))
    assert(t.live() == Seq("a0") && !state(t).lanes.contains(lane.lane))
  }

  test("a damaged record of a retired lane does not bring the lane back") {
    val t = IngestTables.hadoop(settings = retiring)
    val receipt = t.append(t.draw(), t.dataFile("a0"))
    val (path, bytes) = (recordOf(t, receipt), Files.readAllBytes(recordOf(t, receipt)))
    assert(t.pass().isCommit)
    retire(t)
    Files.createDirectories(path.getParent)
    Files.write(path, bytes.dropRight(1))
    commitRefused(t)
    Files.createDirectories(path.getParent)
    Files.write(path, bytes)
    commitRefused(t)
    assert(quarantined(t) == Seq(receipt.lane -> "damaged"))
    assert(t.live().count(_ == "a0") == 1 && !state(t).lanes.contains(receipt.lane))
  }

  test("a producer that hangs after it drew its lane is refused, and its record can be appended again") {
    val t = IngestTables.hadoop(settings = retiring)
    once(t, "a0")
    val hanging = t.draw()
    once(t, "b0")
    (0 until 2).foreach(_ => retire(t))
    val receipt = t.append(hanging, t.dataFile("h0"))
    commitRefused(t)
    assert(quarantined(t) == Seq(hanging.lane -> RefusalCode.Late) && !t.live().contains("h0"))
    val admin = new IngestAdmin(t.target, t.settings, t.clock)
    assert(admin.visibility(receipt).asInstanceOf[Visibility.Quarantined].code == RefusalCode.Late)
    admin.requeue(hanging.lane, receipt.seq)
    assert(t.pass().isCommit && t.live().contains("h0"))
  }

  test("lanes are not retired as long as a record would be refused that waits") {
    val t = IngestTables.hadoop(settings = retiring)
    val waiting = t.draw()
    val gone = t.append(waiting, t.dataFile("w0"))
    Files.move(recordOf(t, gone), t.root.resolve("moved"))
    t.append(waiting, t.dataFile("w1"))
    once(t, "a0")
    retire(t)
    assert(state(t).retired == -1 && state(t).lanes.size == 2)
    Files.move(t.root.resolve("moved"), recordOf(t, gone))
    assert(t.pass().isCommit && Set("w0", "w1").subsetOf(t.live().toSet))
    retire(t)
    assert(state(t).retired >= 0 && quarantined(t).isEmpty)
  }

  test("each branch retires its own lanes") {
    val t = IngestTables.hadoop(settings = retiring)
    once(t, "a0")
    t.reload().manageSnapshots().createBranch("audit").commit()
    val audit = t.draw("audit")
    t.append(audit, t.dataFile("d0"))
    t.passes()
    (0 until 3).foreach(_ => retire(t))
    assert(state(t).retired >= LaneName.drawnAt(audit.lane).get && state(t, "audit").retired == -1)
    t.append(audit, t.dataFile("d1"))
    t.append(t.draw("audit"), t.dataFile("e0"))
    t.passes()
    assert(Set("d0", "d1", "e0").subsetOf(t.live("audit").toSet) && quarantined(t).isEmpty)
  }

  test("a receipt of a retired lane is visible; a number alone is unknown") {
    val t = IngestTables.hadoop(settings = retiring)
    val receipt = t.append(t.draw(), t.dataFile("a0"))
    t.pass()
    retire(t)
    val admin = new IngestAdmin(t.target, t.settings, t.clock)
    assert(admin.visibility(receipt) == Visibility.Visible)
    assert(admin.visibility(receipt.copy(nonce = "")) == Visibility.Unknown)
  }

  test("a producer does not open a lane whose name another one has drawn") {
    val t = IngestTables.hadoop(settings = retiring)
    val error = intercept[IllegalArgumentException](t.lane(t.draw().lane))
    assert(error.getMessage.contains("draws a name of this form"))
    assert(Seq("drawn-1", "drawn-01-" + "0" * 32, "drawn-1-" + "A" * 32).forall(LaneName.drawnAt(_).isEmpty))
  }

  test("a state has format 2 only after it has retired a lane, so that earlier releases read it until then") {
    val t = IngestTables.hadoop(settings = retiring)
    def format = "\"format\":([0-9])".r
      .findFirstMatchIn(new String(t.target.files.read(state(t).pointer.statePath, StateFile.MaxBytes).get))
      .map(_.group(1))
    once(t, "a0")
    assert(format.contains("1"))
    retire(t)
    assert(format.contains("2") && state(t).retired == 0)
  }

  test("a hundred thousand lanes of one record, over a day, leave a small state") {
    val t = IngestTables.hadoop(settings = retiring)
    val day = (0 until 288).map(_ * 5 * 60 * 1000L)
    val pointer = IngestPointer(1, "0" * 16, "q", "u")
    val start = LaneState(pointer, "main", None, -1, Map.empty, Nil, CommittedTotals(0, 0, 0, 0))
    val end = day.foldLeft(start) { (before, at) =>
      val no = before.pointer.no
      val lanes = before.lanes ++ Seq.fill(348)(LaneName.draw(no) -> Watermark(0, at))
      val states = BranchStates("main", None, Some(before), Nil)
      val next =
        Retirement.of(states, lanes, Poll(Nil, complete = true), _ => true, at - t.settings.laneRetentionMillis.get)
      before.copy(pointer = pointer.copy(no = no + 1), lanes = next.lanes, retired = next.upTo)
    }
    val bytes = StateFile.encode(end).length
    println(s"RetirementTest: ${end.lanes.size} lanes in $bytes bytes after ${348 * day.size} lanes")
    assert(bytes < 1000000 && end.lanes.size < 10000)
  }

  test("a loop deletes old files of the ingest root, and goes on after a failure") {
    val t = IngestTables.hadoop(settings = retiring.copy(intervalMillis = 0, pollMillis = 10, tidyMillis = 0))
    val calls = new AtomicInteger
    val loop = new CommitLoop(
      Seq("tidied" -> (() => t.target)),
      t.settings,
      t.clock,
      tidy = _ => if (calls.incrementAndGet() == 1) throw new IllegalStateException("simulated"))
    loop.start()
    val end = System.nanoTime() + 20000000000L
    while (calls.get < 3 && System.nanoTime() < end) Thread.sleep(10)
    t.append("a", t.dataFile("a0"))
    while (t.live().isEmpty && System.nanoTime() < end) Thread.sleep(10)
    assert(loop.stop(5000) && calls.get >= 3 && t.live() == Seq("a0"))
  }

  test("tidying deletes old states and temporary files, and no data file; a fast clock deletes nothing") {
    val t = IngestTables.hadoop(settings = retiring)
    (0 until 3).foreach(i => once(t, s"a$i"))
    val orphan = Path.of(t.dataFile("orphan").location().stripPrefix("file:"))
    val temporary = Files.writeString(t.root.resolve("state/.1.json.0123456789abcdef.tmp"), "part")
    t.reload().expireSnapshots().expireOlderThan(System.currentTimeMillis() + 1).retainLast(1).commit()
    t.clock.forward(1000 * Hour)
    def tidied() = {
      new IngestGc(t.target, t.clock).tidy()
      Files.list(t.root.resolve("state")).iterator().asScala.filterNot(_ == temporary).size
    }
    assert(tidied() == 3 && Files.exists(temporary))
    val old = FileTime.fromMillis(System.currentTimeMillis() - 80 * Hour)
    (Files.list(t.root.resolve("state")).iterator().asScala.toSeq :+ orphan).foreach(Files.setLastModifiedTime(_, old))
    once(t, "a3")
    t.reload().expireSnapshots().expireOlderThan(System.currentTimeMillis() + 1).retainLast(1).commit()
    assert(tidied() == 1 && !Files.exists(temporary) && Files.exists(orphan))
    assert(t.pass().outcome == PassOutcome.Idle)
  }
}
