// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.queue

import java.util.concurrent.{Callable, Executors}

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.record.{DataFilePath, IngestRecord, Nonce, RecordCodecTest, UnreadableRecordException}

/** What each kind of queue does. */
abstract class CommitQueueContract extends AnyFunSuite {

  /** A queue of a new table, and a second handle of the same queue, as another process has it. */
  protected def open(): (CommitQueue, CommitQueue)

  /** Puts bytes that are no record where the next record of a lane would be. */
  protected def damage(queue: CommitQueue, lane: String, seq: Long): Unit

  protected val Unlimited = PollLimits(Int.MaxValue, Long.MaxValue)

  protected def record(lane: String, seq: Long): IngestRecord =
    RecordCodecTest.Sample.copy(lane = lane, seq = seq, prevSeq = seq - 1, nonce = Nonce.draw())

  protected def keys(names: Seq[RecordName]): Seq[(String, Long)] = names.map(name => (name.lane, name.seq))

  protected def keys(poll: Poll): Seq[(String, Long)] = keys(poll.records.map(_.name))

  protected def filled(lanes: (String, Int)*): CommitQueue = {
    val (queue, _) = open()
    for ((lane, count) <- lanes; seq <- 0 until count) queue.append(record(lane, seq.toLong))
    queue
  }

  test("records are delivered as they were appended, until they are settled by any process") {
    val (queue, other) = open()
    val appended = record("läne/1", 3)
    val receipt = queue.append(appended)
    assert((receipt.lane, receipt.seq, receipt.nonce) == (("läne/1", 3L, appended.nonce)))
    Seq(queue, other, queue).foreach { q =>
      assert(q.poll(Unlimited).records.map(_.content) == Seq(Right(appended)))
    }
    assert(other.stats().records == 1 && queue.stats().oldestMillis.nonEmpty)
    assert(queue.stats().bytes > 100 && queue.stats() == other.stats())
    assert(other.countByLane() == Map("läne/1" -> 1L))
    Seq(queue, other, queue).foreach(_.settle(Seq(RecordName("läne/1", 3, appended.nonce, 0))))
    Seq(queue, other).foreach { q =>
      assert(q.poll(Unlimited) == Poll(Nil, complete = true) && q.stats() == QueueStats(0, 0, None))
      assert(q.countByLane().isEmpty)
      assert(q.names().isEmpty && q.pendingOf("läne/1").isEmpty && q.pendingFiles().isEmpty)
    }
  }

  test("a poll with limits takes a prefix of each lane, and lanes in turn") {
    val queue = filled("a" -> 5, "b" -> 2, "c" -> 1)
    (1 to 8).foreach { limit =>
      val poll = queue.poll(PollLimits(limit, Long.MaxValue))
      assert(poll.records.size == limit && poll.complete == (limit == 8))
      keys(poll).groupBy(_._1).values.foreach(lane => assert(lane.map(_._2) == lane.indices.map(_.toLong)))
      if (limit >= 3) assert(keys(poll).map(_._1).toSet == Set("a", "b", "c"))
    }
    assert(keys(queue.poll(PollLimits(10, 1))).size == 1)
  }

  test("the records of one lane are delivered in order, and a settled one is left out") {
    val queue = filled("a" -> 4, "b" -> 1)
    queue.settle(Seq(RecordName("x", 1, Nonce.draw(), 0)))
    queue.settle(queue.names().filter(name => name.lane == "a" && name.seq == 1))
    assert(queue.pendingOf("a").map(_.name.seq) == Seq(0, 2, 3) && queue.pendingOf("x").isEmpty)
    assert(keys(queue.names()).sorted == Seq("a" -> 0L, "a" -> 2L, "a" -> 3L, "b" -> 0L))
    assert(queue.stats().records == 4 && queue.countByLane() == queue.stats().byLane)
    queue.append(record("a", 4))
    assert(queue.pendingOf("a").map(_.name.seq) == Seq(0, 2, 3, 4))
  }

  test("a number that is appended again is delivered twice, under two names") {
    val (queue, _) = open()
    val twice = Seq(record("a", 0), record("a", 0))
    twice.foreach(queue.append)
    assert(queue.pendingOf("a").map(_.content.toOption.get.nonce).sorted == twice.map(_.nonce).sorted)
    queue.settle(queue.names().filter(_.nonce == twice.head.nonce))
    assert(queue.pendingOf("a").map(_.name.nonce) == Seq(twice(1).nonce))
  }

  test("the files of pending records are listed, and a record that cannot be read is delivered with its problem") {
    val (queue, other) = open()
    val appended = record("a", 0)
    queue.append(appended)
    assert(other.pendingFiles().toSeq == appended.files.map(DataFilePath.of))
    damage(queue, "a", 1)
    Seq(queue, other).foreach { q =>
      assert(q.pendingOf("a").map(d => d.name.seq -> d.content.isRight) == Seq(0L -> true, 1L -> false))
      assert(intercept[UnreadableRecordException](q.pendingFiles().toSeq).getMessage.startsWith("Cannot list"))
    }
    queue.settle(queue.names().filter(_.seq == 1))
    assert(other.pendingFiles().size == 1)
  }

  test("appends of several threads and handles are all delivered, and settled by two committers") {
    val (queue, other) = open()
    val pool = Executors.newFixedThreadPool(4)
    try {
      val lanes = (0 until 4).map { lane =>
        (() =>
          (0 until 10).foreach(seq =>
            (if (lane % 2 == 0) queue else other).append(record(s"lane-$lane", seq.toLong)))): Callable[Unit]
      }
      pool.invokeAll(lanes.asJava).asScala.foreach(_.get())
      val expected = for (lane <- 0 until 4; seq <- 0 until 10) yield s"lane-$lane" -> seq.toLong
      assert(keys(queue.poll(Unlimited)).sorted == expected.sorted)
      val (odd, even) = queue.names().partition(_.seq % 2 == 1)
      other.names()
      Seq(queue -> odd, other -> even)
        .map { case (q, names) =>
          pool.submit((() => names.grouped(3).foreach(q.settle)): Runnable)
        }
        .foreach(_.get())
      Seq(queue, other).foreach(q => assert(q.names().isEmpty))
    } finally pool.shutdown()
  }
}
