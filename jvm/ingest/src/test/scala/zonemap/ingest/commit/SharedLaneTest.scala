// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.{IngestTable, IngestTables}
import zonemap.ingest.admin.{IngestAdmin, Visibility}
import zonemap.ingest.queue.{Receipt, SpoolNames}
import zonemap.ingest.table.{IcebergIngestCatalog, RefusalCode}
import zonemap.ingest.write.LaneWriter

/** Records of producers that use one lane at the same time are committed or quarantined, none of them silently dropped. */
class SharedLaneTest extends AnyFunSuite {
  private def table(gapsKept: Int = 16): IngestTable =
    IngestTables.hadoop(settings = IngestSettings(quarantineMillis = 0, gapsKept = gapsKept))

  private def put(t: IngestTable, lane: LaneWriter, seq: Long): Receipt =
    lane.append(seq, Seq(t.dataFile(s"a$seq-${System.nanoTime()}")), System.currentTimeMillis())

  private def drain(t: IngestTable): Unit = new Committer(t.target, t.settings, t.clock).drain(10000): Unit

  private def codes(t: IngestTable): Seq[(Long, String)] = {
    val quarantine = new Quarantine(t.target.files)
    quarantine.names().map(n => (n.seq, quarantine.reason(n).get.code)).sorted
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
    val t = table()
    put(t, t.lane("c"), 0)
    drain(t)
    t.reload().manageSnapshots().createBranch("audit").commit()
    put(t, t.lane("b", "audit"), 0)
    put(t, t.lane("a"), 0)
    val first = t.target.queue.pendingOf("a").head
    def deliver(bytes: Array[Byte]) =
      t.target.files.replace(SpoolNames.record(SpoolNames.Pending, "a", 0, first.name.nonce), bytes)
    deliver(first.bytes.take(20))
    val target = t.target
    val environment = new PassEnvironment {
      override def nowMillis(): Long = t.clock.millis()
      override def pause(attempts: Int): Unit = ()
    }
    val catalog = new IcebergIngestCatalog(target.name, target.operations)
    val audit = new CommitPass("audit", catalog, target.queue, target.files, t.settings, environment)
    val suspended = Iterator
      .iterate[PassState](PassState.Begin)(audit.step)
      .collectFirst { case planned: PassState.Planned => planned }
      .get
    t.pass()
    put(t, t.lane("a"), 0)
    t.pass()
    Iterator.iterate[PassState](suspended)(audit.step).find(_.isInstanceOf[PassState.Done]): Unit
    deliver(first.bytes)
    drain(t)
    assert(t.live().size == 2 && t.live("audit").size == 2)
    assert(codes(t).map(_._1) == Seq(0L) && t.target.queue.names().isEmpty)
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
