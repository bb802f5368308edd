// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.{IngestTable, IngestTables}
import zonemap.ingest.admin.{IngestAdmin, Visibility}
import zonemap.ingest.queue.{Receipt, SpoolNames}
import zonemap.ingest.table.{IcebergIngestCatalog, LaneView, RefusalCode, Watermark}
import zonemap.ingest.write.LaneWriter

/** Records of producers that use one lane at the same time are committed or quarantined, none of them silently dropped. */
class SharedLaneTest extends AnyFunSuite {
  private def table(gapsKept: Int = 16): IngestTable =
    IngestTables.hadoop(settings = IngestSettings(quarantineMillis = 0, gapsKept = gapsKept))

  private def put(t: IngestTable, lane: LaneWriter, seq: Long): Receipt =
    lane.append(seq, Seq(t.dataFile(s"${lane.lane}$seq-${System.nanoTime()}")), System.currentTimeMillis())

  private def drain(t: IngestTable): Unit = new Committer(t.target, t.settings, t.clock).drain(10000): Unit

  private def codes(t: IngestTable): Seq[(Long, String)] = {
    val quarantine = new Quarantine(t.target.files)
    quarantine.names().map(n => (n.seq, quarantine.reason(n).get.code)).sorted
  }

  private def message(t: IngestTable): String = {
    val quarantine = new Quarantine(t.target.files)
    quarantine.names().flatMap(quarantine.reason).find(_.code == RefusalCode.Late).get.message
  }

  private def live(t: IngestTable): Seq[String] = t.live().map(_.takeWhile(_ != '-'))

  test("numbers that the lane has left out are quarantined, and their receipts name the reason") {
    val t = table()
    val (one, two) = (t.lane("a"), t.lane("a"))
    put(t, two, 100)
    drain(t)
    val receipts = Seq(5L, 6L).map(put(t, one, _))
    put(t, two, 101)
    val admin = new IngestAdmin(t.target, t.settings, t.clock)
    assert(receipts.map(admin.visibility) == Seq(Visibility.Pending, Visibility.Pending))
    drain(t)
    assert(codes(t) == Seq((5L, RefusalCode.Fork), (6L, RefusalCode.Fork)) && live(t) == Seq("a100", "a101"))
    receipts.map(admin.visibility).foreach {
      case Visibility.Quarantined(RefusalCode.Fork, why) => assert(why.contains("two producers use one lane"))
      case other                                         => fail(s"$other")
    }
    assert(t.target.queue.names().isEmpty)
  }

  test("a state lists the newest gaps, and a record of an older one is quarantined with a code of its own") {
    val t = table(gapsKept = 1)
    val early = t.lane("a")
    val late = t.lane("a")
    Seq(10L, 20L, 30L).foreach { seq =>
      put(t, late, seq)
      drain(t)
    }
    Seq(5L, 25L).foreach(put(t, early, _))
    drain(t)
    assert(codes(t) == Seq((5L, RefusalCode.Late), (25L, RefusalCode.Fork)) && live(t) == Seq("a10", "a20", "a30"))
    assert(message(t).contains("Two producers may use the lane"))
  }

  test("a repeat of a hole that another branch may have filled is late, and its reason accuses no second producer") {
    val t = audited()
    put(t, t.lane("a"), 3)
    val walk = new LaneWalk(
      "main",
      new IcebergIngestCatalog(t.target.name, t.target.operations).load(),
      check = _ => fail("the record is not committed"),
      confirmed = _ => true,
      blocks = _ => false,
      isFull = () => false
    )
    val lane = LaneView(Some(Watermark(9, 1, holes = Set(3L))), Seq(Watermark(7, 1, since = 6)))
    val refused = walk.walk(lane, t.target.queue.pendingOf("a")).refused.map(_.record)
    assert(refused.map(r => (r.seq, r.code)) == Seq((3L, RefusalCode.Late)))
    assert(refused.head.message.contains("could not be read") && !refused.head.message.contains("producer"))
  }

  test("a committed record between gaps is dropped when it is delivered again") {
    val t = table()
    val lane = t.lane("a")
    Seq(10L, 20L).foreach(put(t, lane, _))
    val delivered = t.target.queue.pendingOf("a")
    put(t, lane, 30)
    drain(t)
    delivered.foreach { d =>
      t.target.files.create(SpoolNames.record(SpoolNames.Pending, "a", d.name.seq, d.name.nonce), d.bytes)
    }
    drain(t)
    assert(codes(t).isEmpty && t.target.queue.names().isEmpty && live(t) == Seq("a10", "a20", "a30"))
  }

  test("one branch decides on an unreadable record, so that the record that replaces it is committed once") {
    val t = audited()
    put(t, t.lane("b", "audit"), 0)
    put(t, t.lane("a"), 0)
    val first = t.target.queue.pendingOf("a").head
    def deliver(bytes: Array[Byte]) =
      t.target.files.replace(SpoolNames.record(SpoolNames.Pending, "a", 0, first.name.nonce), bytes)
    deliver(first.bytes.take(20))
    val audit = passOf(t, "audit")
    val suspended = until(audit, PassState.Begin)(_.isInstanceOf[PassState.Planned])
    t.pass()
    put(t, t.lane("a"), 0)
    t.pass()
    until(audit, suspended)(isDone): Unit
    deliver(first.bytes)
    drain(t)
    assert(t.live().size == 2 && t.live("audit").size == 2)
    assert(codes(t).map(_._1) == Seq(0L) && t.target.queue.names().isEmpty)
  }

  private def passOf(t: IngestTable, branch: String): CommitPass = {
    val target = t.target
    val environment = new PassEnvironment {
      override def nowMillis(): Long = t.clock.millis()
      override def pause(attempts: Int): Unit = ()
    }
    val catalog = new IcebergIngestCatalog(target.name, target.operations)
    new CommitPass(branch, catalog, target.queue, target.files, t.settings, environment)
  }

  /** Runs a pass until a state for which `stop` holds. */
  private def until(pass: CommitPass, start: PassState)(stop: PassState => Boolean): PassState =
    Iterator.iterate(start)(pass.step).find(stop).get

  private def audited(): IngestTable = {
    val t = table()
    put(t, t.lane("c"), 0)
    drain(t)
    t.reload().manageSnapshots().createBranch("audit").commit()
    t
  }

  /** A record of the branch, of which only a part is in the queue. */
  private def putTorn(t: IngestTable, seq: Long): Unit = {
    put(t, t.lane("a", "audit"), seq)
    val torn = t.target.queue.pendingOf("a").find(_.name.seq == seq).get
    t.target.files.replace(SpoolNames.record(SpoolNames.Pending, "a", seq, torn.name.nonce), torn.bytes.take(20))
  }

  /** Appends the number again and returns what delivers this record another time. */
  private def putAgain(t: IngestTable, seq: Long): () => Unit = {
    val receipt = put(t, t.lane("a", "audit"), seq)
    val bytes = t.target.queue.pendingOf("a").find(_.name.nonce == receipt.nonce).get.bytes
    () => t.target.files.create(SpoolNames.record(SpoolNames.Pending, "a", seq, receipt.nonce), bytes): Unit
  }

  test("the receipt of a number without a nonce follows the record that has replaced a torn one") {
    val t = audited()
    putTorn(t, 0)
    drain(t)
    putAgain(t, 0): Unit
    drain(t)
    val receipt = put(t, t.lane("a", "audit"), 0)
    val admin = new IngestAdmin(t.target, t.settings, t.clock)
    assert(receipt.nonce.isEmpty && codes(t) == Seq(0L -> "damaged"))
    assert(admin.visibility(receipt) == Visibility.Visible)
  }

  private def isDone(state: PassState) = state.isInstanceOf[PassState.Done]

  Seq(false, true).foreach { isLate =>
    val who = if (isLate) "main refuses the torn record" else "the branch commits the repeated record"
    test(s"a repeated record of a lane with a name is committed to its branch once, if $who with states of before") {
      val t = audited()
      putTorn(t, 0)
      val suspended = passOf(t, if (isLate) "main" else "audit")
      val isSuspended: PassState => Boolean =
        if (isLate) _.isInstanceOf[PassState.Planned] else _.isInstanceOf[PassState.Loaded]
      val state = until(suspended, PassState.Begin)(isSuspended)
      if (!isLate) t.pass(): Unit
      val deliver = putAgain(t, 0)
      if (isLate) {
        val audit = passOf(t, "audit")
        until(audit, PassState.Begin)(isDone): Unit
      }
      until(suspended, state)(isDone): Unit
      assert(t.live("audit").count(_.startsWith("a0")) == 1, t.live("audit"))
      deliver()
      drain(t)
      assert(t.live("audit").count(_.startsWith("a0")) == 1 && t.target.queue.names().isEmpty)
      put(t, t.lane("a"), 1)
      drain(t)
      put(t, t.lane("a", "audit"), 2)
      drain(t)
      deliver()
      drain(t)
      assert(t.live("audit").map(_.takeWhile(_ != '-')) == Seq("a0", "a2", "c0") && live(t) == Seq("a1", "c0"))
      assert(codes(t).forall(_ == (0L -> "damaged")) && t.target.queue.names().isEmpty)
    }
  }

  test("an unreadable record whose append is repeated for another branch is replaced by it, once") {
    val t = table()
    put(t, t.lane("a"), 0)
    val file = t.target.queue.pendingOf("a").head
    t.target.files
      .replace(SpoolNames.record(SpoolNames.Pending, "a", 0, file.name.nonce), file.bytes.take(20))
    drain(t)
    t.reload().manageSnapshots().createBranch("audit").commit()
    val again = t.lane("a", "audit")
    put(t, again, 0)
    put(t, again, 1)
    put(t, t.lane("a", "audit"), 2)
    drain(t)
    assert(t.live("audit").map(_.takeWhile(_ != '-')) == Seq("a0", "a1", "a2") && t.live().isEmpty)
    assert(t.target.queue.names().isEmpty && codes(t).map(_._1) == Seq(0L))
    put(t, t.lane("a"), 3)
    drain(t)
    assert(t.lane("a").lastSeq == 3 && live(t) == Seq("a3") && t.target.queue.names().isEmpty)
  }
}
