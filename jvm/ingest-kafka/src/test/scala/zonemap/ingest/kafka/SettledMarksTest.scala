// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

import java.nio.file.Files

import org.scalatest.funsuite.AnyFunSuite

import zonemap.iceberg.testing.LoggedWarnings
import zonemap.ingest.FaultyFiles
import zonemap.ingest.store.IngestFiles

/** Marks of settled offsets in stores that show a file before its end, and that refuse deletions. */
class SettledMarksTest extends AnyFunSuite {
  private val Queue = "queue"

  private def root(): FaultyFiles = new FaultyFiles(IngestFiles.of(null, Files.createTempDirectory("marks").toString))

  private def mark(upTo: Long) = SettledMark(Queue, 0, upTo, OffsetRanges.Empty)

  test("a mark that is not complete counts when it is") {
    val files = root()
    val path = "settled/0-00000000000000000007-0123456789abcdef.json"
    val bytes = SettledMark.encode(mark(7))
    files.create(path, bytes.take(bytes.length / 2))
    val marks = new SettledMarks(files, Queue)
    assert(marks.read().isEmpty)
    files.replace(path, bytes)
    assert(marks.read()(0).upTo == 7)
  }

  test("a mark that cannot be deleted fails nothing, is logged once, and leaves with a later one") {
    val files = root()
    val marks = new SettledMarks(files, Queue)
    marks.write(mark(1))
    files.refused += "delete" -> "settled/"
    val warnings = LoggedWarnings.of("zonemap.ingest")((2 to 4).foreach(upTo => marks.write(mark(upTo.toLong))))
    assert(warnings.size == 1 && warnings.head.startsWith("Cannot delete the mark"), warnings)
    assert(files.list("settled").size == 4 && marks.read()(0).upTo == 4)
    files.refused.clear()
    marks.write(mark(5))
    assert(files.list("settled").size == 1 && marks.read()(0).upTo == 5)
  }

  test("marks state together what each of them states, whatever their ranges") {
    val rng = new zonemap.iceberg.testing.Rng(zonemap.iceberg.testing.Rng.baseSeed)
    (0 until 200).foreach { _ =>
      val sets = Seq.fill(3)((rng.int(40).toLong, (0 until 40).filter(_ => rng.int(3) == 0).map(_.toLong).toSet))
      val marks = sets.map { case (upTo, all) =>
        val own = all.filter(_ < upTo)
        SettledMark(Queue, 0, upTo, OffsetRanges.of(own.toSeq.sorted.iterator)) -> own
      }
      val settled = SettledOffsets(marks.map(_._1))
      (0L until 45L).foreach { offset =>
        val expected = marks.exists { case (mark, own) => offset < mark.upTo && !own(offset) }
        assert(settled(offset) == expected, s"$offset of $marks")
        marks.foreach { case (mark, own) => assert(mark.pending.contains(offset) == own(offset)) }
      }
      assert(marks.forall { case (mark, _) => SettledMark.decode(SettledMark.encode(mark)).contains(mark) })
      for ((a, x) <- marks; (b, y) <- marks) {
        val expected = b.upTo <= a.upTo && x.forall(o => o >= b.upTo || y(o))
        assert(a.supersedes(b) == expected, s"$a, $b")
      }
    }
  }

  test("a mark reaches behind thousands of pending offsets") {
    val log = new PartitionLog("events", Queue, 0)
    log.align(0, SettledOffsets(Nil), 0L)
    (0L until 12000L by 2).foreach { offset =>
      log.add(LogEntry(0, offset, zonemap.ingest.queue.RecordName("held", offset, "0123456789abcdef", 0), 1, None))
    }
    log.skipTo(12000)
    val mark = log.mark()
    assert(mark.upTo == 12000 && SettledOffsets(Seq(mark))(11999) && !SettledOffsets(Seq(mark))(11998))
  }

  test("a mark that lists each pending offset is read") {
    val body = """{"format":1,"queue-id":"queue","partition":0,"up-to":9,"pending":[2,3,7]}"""
    val mark = SettledMark.decode(zonemap.ingest.record.Framed.encode(body))
    assert(mark.contains(SettledMark(Queue, 0, 9, OffsetRanges(Vector(2L -> 4L, 7L -> 8L)))))
  }

  test("the reports of two incarnations of a topic are in different lanes") {
    val lanes = Seq("one", "two").flatMap { id =>
      val log = new PartitionLog("events", id, 0)
      log.align(5, SettledOffsets(Nil), 0L)
      log.addForeign(7, 1, None, 0, isRecord = false)
      log.pending.map(_.name.lane).toSeq
    }
    assert(lanes.size == 4 && lanes.distinct == lanes, lanes)
  }
}
