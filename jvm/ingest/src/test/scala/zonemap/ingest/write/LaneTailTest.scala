// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.write

import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.queue.{Delivered, RecordName}
import zonemap.ingest.record.{RecordCodecTest, RecordProblem}

/** The last number of a lane, which the next record follows. */
class LaneTailTest extends AnyFunSuite {
  private def readable(seq: Long, prevSeq: Long): Delivered = {
    val record = RecordCodecTest.Sample.copy(lane = "a", seq = seq, prevSeq = prevSeq)
    Delivered(RecordName("a", seq, record.nonce, 0), Right(record), Array.emptyByteArray)
  }

  private def unreadable(seq: Long): Delivered =
    Delivered(RecordName("a", seq, "n", 0), Left(RecordProblem("damaged", "")), Array.emptyByteArray)

  Seq[(String, Long, Seq[Delivered], Long)](
    ("a new lane", -1, Nil, -1),
    ("a lane whose records are all settled", 5, Nil, 5),
    ("pending records follow the watermark", 5, Seq(readable(6, 5), readable(8, 6)), 8),
    ("pending records in another order", 5, Seq(readable(8, 6), readable(6, 5)), 8),
    ("records that are settled and still delivered", 5, Seq(readable(4, 3), readable(5, 4)), 5),
    ("a record twice", 5, Seq(readable(6, 5), readable(6, 5)), 6),
    ("a fork does not count", 5, Seq(readable(6, 5), readable(7, 5)), 6),
    ("a record behind a gap counts", 5, Seq(readable(9, 8)), 9),
    ("an unreadable record counts", 5, Seq(unreadable(6)), 6),
    ("a record behind an unreadable one counts", 5, Seq(unreadable(6), readable(7, 6)), 7)
  ).foreach { case (name, watermark, pending, last) =>
    test(s"$name: the last number is $last") {
      assert(LaneTail.of(watermark, Set.empty, pending).last == last)
    }
  }

  Seq[(String, Set[Long], Seq[Delivered], Map[Long, Long])](
    ("an unreadable record", Set.empty, Seq(unreadable(6)), Map(6L -> 5L)),
    ("two of them", Set.empty, Seq(readable(6, 5), unreadable(7), unreadable(9)), Map(7L -> 6L, 9L -> 7L)),
    ("an unreadable record whose number was appended again", Set.empty, Seq(unreadable(6), readable(6, 5)), Map.empty),
    ("a hole", Set(3), Nil, Map(3L -> 2L)),
    ("a hole that was appended again", Set(3), Seq(readable(3, 2)), Map.empty)
  ).foreach { case (name, holes, pending, open) =>
    test(s"$name: the numbers that may be appended again are ${open.keys.toSeq.sorted.mkString("[", ", ", "]")}") {
      assert(LaneTail.of(5, holes, pending).open == open)
    }
  }
}
