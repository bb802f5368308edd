// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.{IngestTable, IngestTables}
import zonemap.ingest.admin.{IngestAdmin, Visibility}
import zonemap.ingest.commit.{IngestSettings, Retiring}
import zonemap.ingest.record.IngestRecord
import zonemap.ingest.table.{QueueChoice, RefusalCode}
import zonemap.ingest.write.LaneWriter

/** Producers of drawn lanes that return after their lane is retired, with a queue in a topic of a real broker. */
class KafkaRetirementTest extends AnyFunSuite with Retiring {
  private lazy val broker = KafkaBroker.shared

  private def withTable(work: IngestTable => Any): Unit = {
    val choice = QueueChoice(Some(QueueChoice.Kafka), Some(broker.servers))
    val catalog = IngestTables.jdbc(IngestTables.folder())
    val t = IngestTables.in(catalog, IngestSettings(quarantineMillis = 0), choice)
    try work(t): Unit
    finally t.close()
  }

  private def live(t: IngestTable): Seq[String] = t.live().filterNot(_.startsWith("tick"))

  private def recordOf(t: IngestTable, lane: LaneWriter): IngestRecord =
    t.target.queue.pendingOf(lane.lane).flatMap(_.content.toOption).head

  /** The codes of the quarantined records, each after the passes that bring it there. */
  private def refused(t: IngestTable): Seq[(String, String)] = {
    (0 until 2).foreach(_ => passes(t))
    new IngestAdmin(t.target, t.settings, t.clock).quarantined().map(q => q.lane -> q.code)
  }

  test("a message of a retired lane that the topic delivers again is refused, also after a restart of the broker") {
    withTable { t =>
      tick(t)
      val lane = t.draw()
      t.append(lane, t.dataFile("a0"))
      val first = recordOf(t, lane)
      passes(t)
      retire(t)
      assert(!state(t).lanes.contains(lane.lane) && state(t).retired >= 0)
      t.target.queue.append(first)
      broker.kill()
      broker.start()
      assert(refused(t) == Seq(lane.lane -> RefusalCode.Late))
      assert(live(t) == Seq("a0") && t.target.queue.names().isEmpty && !state(t).lanes.contains(lane.lane))
    }
  }

  test("a producer that returns after its lane is retired is refused with a reason, and its rows are committed once") {
    withTable { t =>
      tick(t)
      val hanging = t.draw()
      t.append(hanging, t.dataFile("h0"))
      passes(t)
      retire(t)
      val receipt = t.append(hanging, t.dataFile("h1"))
      val admin = new IngestAdmin(t.target, t.settings, t.clock)
      assert(admin.visibility(receipt) == Visibility.Pending)
      assert(refused(t) == Seq(hanging.lane -> RefusalCode.Late) && live(t) == Seq("h0"))
      admin.visibility(receipt) match {
        case Visibility.Quarantined(RefusalCode.Late, why) => assert(why.contains("the state has retired its lane"))
        case other                                         => fail(s"$other")
      }
      val again = t.append(hanging, t.dataFile("h2"))
      assert(refused(t).count(_._1 == hanging.lane) == 2)
      Seq(receipt, again).foreach(late => admin.requeue(late.lane, late.seq))
      passes(t)
      assert(live(t) == Seq("h0", "h1", "h2") && t.target.queue.names().isEmpty)
      assert(Seq(receipt, again).map(admin.visibility) == Seq(Visibility.Visible, Visibility.Visible))
    }
  }

  test("a producer whose clocks say that its lane is old goes on with another lane") {
    withTable { t =>
      tick(t)
      var now = 0L
      def draw() = LaneWriter.draw(t.target, t.settings, "main", "test", () => Seq(now, now))
      val old = draw()
      t.append(old, t.dataFile("a0"))
      passes(t)
      retire(t)
      now += 3 * Hour
      val error = intercept[IllegalArgumentException](t.append(old, t.dataFile("a1")))
      assert(error.getMessage.contains("Write again, so that another lane is drawn"))
      assert(t.target.queue.names().isEmpty, "nothing was appended")
      t.append(draw(), t.dataFile("a1"))
      passes(t)
      assert(live(t) == Seq("a0", "a1") && refused(t).isEmpty && !state(t).lanes.contains(old.lane))
    }
  }
}
