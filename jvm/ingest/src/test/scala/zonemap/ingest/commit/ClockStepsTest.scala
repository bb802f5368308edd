// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import org.apache.iceberg.exceptions.{CommitFailedException, CommitStateUnknownException}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.testing.LoggedWarnings
import zonemap.ingest.IngestTables
import zonemap.ingest.loop.LoopMeter
import zonemap.ingest.queue.RecordName
import zonemap.ingest.record.{IngestRecord, Nonce}
import zonemap.ingest.sim.{SimTable, SimWorld, SimWriter}
import zonemap.ingest.table.{
  CatalogEntry,
  CheckedRecord,
  FileLength,
  IngestCatalog,
  PointerCommit,
  Refusal,
  RefusalCode,
  TableView
}

/** A clock that is set back: no wait lasts until it has caught up. */
class ClockStepsTest extends AnyFunSuite {
  private val Hour = 3600 * 1000L

  test("a commit that another one conflicts with ends, though the clock goes back with each reading") {
    val world = new SimWorld(seed = 0, without = None)
    world.faults = false
    val table = new SimTable(world)
    val writer = new SimWriter(table, "a", records = 1)
    while (!writer.isDone) writer.step()
    var sent = 0
    val contended = new IngestCatalog {
      override def entry: CatalogEntry = table.catalog.entry
      override def load(): TableView = table.catalog.load()
      override def commit(commit: PointerCommit): Long = {
        sent += 1
        if (sent == 100) throw new IllegalStateException("the pass sends its commit without an end")
        throw new CommitStateUnknownException(new CommitFailedException("conflict"))
      }
      override def lengths(locations: Seq[String]): Seq[FileLength] = table.catalog.lengths(locations)
      override def unwritable(record: CheckedRecord): Option[Refusal] = table.catalog.unwritable(record)
    }
    val environment = new PassEnvironment {
      private var millis = world.trueMillis
      override def nowMillis(): Long = {
        millis -= Hour
        millis
      }
      override def pause(attempts: Int): Unit = ()
    }
    val pass =
      new CommitPass(IngestRecord.MainBranch, contended, table.queue, table.files, IngestSettings(), environment)
    assert(pass.run().result.outcome.isInstanceOf[PassOutcome.Unresolved] && sent > 0 && sent < 100)
    assert(table.queue.names().size == 1)
  }

  test("a problem that lasts is logged again, though the clock was set back") {
    val alarms = new Alarms("events", IngestSettings())
    val stopped = PassResult("main", PassOutcome.Stopped("state-lost", "Cannot go on"), Nil, Nil, 0, more = false)
    val logged = LoggedWarnings.of("zonemap.ingest") {
      Seq(0L, 1000L, -12 * Hour, -12 * Hour + 1000).foreach(at => alarms.check(Seq(stopped), None, 20 * Hour + at))
    }
    assert(logged == Seq("Cannot go on", "Cannot go on"))
  }

  test("the quarantine is counted again, though the clock was set back") {
    val t = IngestTables.hadoop()
    val meter = new LoopMeter
    def counted(nowMillis: Long): Long = meter.measure(Nil, None, t.target, nowMillis).quarantined
    assert(counted(20 * Hour) == 0)
    val refused = RecordName("a", 0, Nonce.draw(), appendedAtMillis = 0)
    new Quarantine(t.target.files).put(refused, Array[Byte](1), Refusal(RefusalCode.OtherTable, "a reason"), 20 * Hour)
    assert(counted(20 * Hour + 1000) == 0)
    assert(counted(8 * Hour) == 1)
  }
}
