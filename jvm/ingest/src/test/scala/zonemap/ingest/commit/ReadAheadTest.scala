// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.IngestTables
import zonemap.ingest.queue.{PollLimits, SpoolNames}

/** What happens to records between the poll that keeps them in memory and the pass that commits them. */
class ReadAheadTest extends AnyFunSuite {
  private val limits = PollLimits(100, 1 << 20)

  test("records that another committer commits after they were read ahead are committed once") {
    val t = IngestTables.in(IngestTables.Catalogs.last._2())
    val (one, two) = (t.target, t.target)
    val writer = t.lane("a")
    (0 until 5).foreach(i => t.append(writer, t.dataFile(s"a$i")))
    assert(one.queue.readAhead(limits).contains(5) && two.queue.readAhead(limits).contains(5))
    new Committer(one, t.settings, t.clock).pass()
    (5 until 8).foreach(i => t.append(writer, t.dataFile(s"a$i")))
    val result = new Committer(two, t.settings, t.clock).pass().head
    assert(result.outcome.asInstanceOf[PassOutcome.Committed].records == 3)
    assert(t.live() == (0 until 8).map(i => s"a$i"))
  }

  test("a record that leaves the queue after it was read ahead is not committed") {
    val t = IngestTables.hadoop()
    val target = t.target
    Seq("a", "b").foreach(lane => t.append(lane, t.dataFile(s"${lane}0")))
    assert(target.queue.readAhead(limits).contains(2))
    target.queue.names().filter(_.lane == "b").foreach { name =>
      target.files.delete(SpoolNames.record(SpoolNames.Pending, name.lane, name.seq, name.nonce))
    }
    new Committer(target, t.settings, t.clock).pass()
    assert(t.live() == Seq("a0"))
  }
}
