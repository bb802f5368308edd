package zonemap.ingest.queue

import java.nio.file.Files
import java.util.concurrent.{Callable, Executors}

import scala.jdk.CollectionConverters._

import zonemap.ingest.store.IngestFiles

class SpoolQueueTest extends CommitQueueContract {
  private def files(): IngestFiles = IngestFiles.of(null, Files.createTempDirectory("spool").toString)
  private var store = files()

  override protected def open(): (CommitQueue, CommitQueue) = {
    store = files()
    (SpoolQueue.open(store, 0), SpoolQueue.open(store, 0))
  }

  override protected def damage(queue: CommitQueue, lane: String, seq: Long): Unit =
    store.create(SpoolNames.record("pending", lane, seq, "0123456789abcdef"), "torn".getBytes): Unit

  test("a record is a file of its lane") {
    val appended = record("läne/1", 3)
    val receipt = SpoolQueue.open(files(), 0).append(appended)
    assert(receipt.location.endsWith(s"pending/l%C3%A4ne%2F1/${"0" * 19}3-${appended.nonce}.rec"))
  }

  test("a name is appended once") {
    val queue = SpoolQueue.open(files(), 0)
    val appended = record("a", 0)
    queue.append(appended)
    assert(intercept[IllegalStateException](queue.append(appended)).getMessage.startsWith("Cannot append the record"))
  }

  test("the root of a queue in Kafka is not opened as a spool") {
    val store = files()
    val identity = QueueIdentity("00000000-0000-4000-8000-000000000001", Some("events"), 7)
    assert(QueueIdentity.create(store, identity) == identity)
    val error = intercept[IllegalArgumentException](SpoolQueue.open(store, 0))
    assert(error.getMessage.contains("its queue is the Kafka topic 'events'"))
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
