package zonemap.ingest.queue

import java.nio.file.Files
import java.util.concurrent.{Callable, Executors}

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.record.{IngestRecord, Nonce, RecordCodecTest, UnreadableRecordException}
import zonemap.ingest.store.IngestFiles

class SpoolQueueTest extends AnyFunSuite {
  private def files(): IngestFiles = IngestFiles.of(null, Files.createTempDirectory("spool").toString)
  private val Unlimited = PollLimits(Int.MaxValue, Long.MaxValue)

  private def record(lane: String, seq: Long): IngestRecord =
    RecordCodecTest.Sample.copy(lane = lane, seq = seq, prevSeq = seq - 1, nonce = Nonce.draw())

  private def filled(lanes: (String, Int)*): SpoolQueue = {
    val queue = SpoolQueue.open(files(), 0)
    for ((lane, count) <- lanes; seq <- 0 until count) queue.append(record(lane, seq.toLong))
    queue
  }

  private def keys(poll: Poll): Seq[(String, Long)] = poll.records.map(d => (d.name.lane, d.name.seq))

  test("records are delivered as they were appended, until they are settled") {
    val queue = SpoolQueue.open(files(), 0)
    val appended = record("läne/1", 3)
    val receipt = queue.append(appended)
    assert(receipt.location.endsWith(s"pending/l%C3%A4ne%2F1/${"0" * 19}3-${appended.nonce}.rec"))
    (0 until 2).foreach(_ => assert(queue.poll(Unlimited).records.map(_.content) == Seq(Right(appended))))
    assert(queue.stats().records == 1 && queue.stats().oldestMillis.nonEmpty)
    (0 until 2).foreach(_ => queue.settle(Seq(RecordName("läne/1", 3, appended.nonce, 0))))
    assert(queue.poll(Unlimited) == Poll(Nil, complete = true) && queue.stats() == QueueStats(0, 0, None))
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

  test("a name is appended once") {
    val queue = filled()
    val appended = record("a", 0)
    queue.append(appended)
    assert(intercept[IllegalStateException](queue.append(appended)).getMessage.startsWith("Cannot append the record"))
  }

  test("the files of pending records are listed, and a record that cannot be read is an error") {
    val store = files()
    val queue = SpoolQueue.open(store, 0)
    val appended = record("a", 0)
    queue.append(appended)
    assert(queue.pendingFiles().toSeq == Seq("/t/data/a.parquet"))
    store.create(SpoolNames.record("pending", "a", 1, "0123456789abcdef"), "torn".getBytes)
    assert(intercept[UnreadableRecordException](queue.pendingFiles().toSeq).getMessage.startsWith("Cannot list"))
  }

  test("processes that open a queue at the same time agree on its identity, and it stays") {
    val store = files()
    val pool = Executors.newFixedThreadPool(8)
    try {
      val opened = (0 until 16).map(_ => (() => SpoolQueue.open(store, 0).identity): Callable[String])
      val identities = pool.invokeAll(opened.asJava).asScala.map(_.get).toSet
      assert(identities.size == 1 && SpoolQueue.existing(store).map(_.identity) == identities.headOption)
    } finally pool.shutdown()
  }

  test("a damaged identity is an error, never a new identity") {
    val store = files()
    store.create(SpoolNames.QueueId, "x".getBytes)
    assert(intercept[IllegalStateException](SpoolQueue.open(store, 0)).getMessage.startsWith("Cannot open the queue"))
  }
}
