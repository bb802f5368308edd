// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

import java.nio.file.Files
import java.util.UUID
import java.util.concurrent.{Callable, Executors}

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.{Admin, OffsetSpec}
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerRecord}
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.serialization.ByteArraySerializer
import org.scalatest.BeforeAndAfterEach

import zonemap.ingest.queue._
import zonemap.ingest.record._
import zonemap.ingest.store.IngestFiles

/** The queue in a topic of a real broker. */
class KafkaQueueTest extends CommitQueueContract with BeforeAndAfterEach {
  private lazy val broker = KafkaBroker.shared
  private lazy val settings = KafkaSettings(broker.servers)
  private val opened = ArrayBuffer.empty[CommitQueue]

  override protected def afterEach(): Unit = {
    opened.foreach(_.close())
    opened.clear()
  }

  /** The root and the topic of a new table. */
  private final class Place {
    val uuid: String = UUID.randomUUID().toString
    val files: IngestFiles = IngestFiles.of(null, Files.createTempDirectory("kafka-root").toString)
    val topic: String = settings.topic(uuid)
    def open(settings: KafkaSettings = KafkaQueueTest.this.settings): KafkaQueue = {
      val queue = KafkaQueue.open(settings, "db.events", uuid, files)
      opened += queue
      queue
    }
    def marks: Int = files.list("settled").size
    def spilled: Int = files.list(SpoolNames.Spilled).size
  }

  private var place = Option.empty[Place]

  override protected def open(): (CommitQueue, CommitQueue) = {
    place = Some(new Place)
    (place.get.open(), place.get.open())
  }

  private def send(topic: String, key: Array[Byte], value: String, headers: (String, String)*): Unit = {
    val producer = new KafkaProducer(settings.client(), new ByteArraySerializer, new ByteArraySerializer)
    try {
      val message = new ProducerRecord(topic, key, value.getBytes)
      headers.foreach { case (name, text) => message.headers().add(name, text.getBytes) }
      producer.send(message).get(): Unit
    } finally producer.close()
  }

  override protected def damage(queue: CommitQueue, lane: String, seq: Long): Unit =
    send(place.get.topic, lane.getBytes, "torn", "zonemap-seq" -> seq.toString, "zonemap-nonce" -> "0123456789abcdef")

  private def reasonOf(body: => Any): String = intercept[Exception](body).getMessage

  test("processes that open the queue of a new table at the same time create one topic, which is the identity") {
    val place = new Place
    val pool = Executors.newFixedThreadPool(4)
    val identities =
      try {
        val all = Seq.fill(4)((() => KafkaQueueTest.identity(settings, place.uuid, place.files)): Callable[String])
        pool.invokeAll(all.asJava).asScala.map(_.get).toSeq
      } finally pool.shutdown()
    assert(identities.distinct == Seq(place.open().identity))
    assert(QueueIdentity.read(place.files).map(i => (i.id, i.topic)).contains((identities.head, Some(place.topic))))
    assert(reasonOf(SpoolQueue.open(place.files, 0)).contains(s"its queue is the Kafka topic '${place.topic}'"))
  }

  test("a root of a spool, and of another topic, is refused") {
    val place = new Place
    SpoolQueue.open(place.files, 0)
    assert(reasonOf(place.open()).contains("its queue is a spool"))
    val other = new Place
    other.open()
    assert(reasonOf(other.open(settings.copy(topicPrefix = "other-"))).contains(s"the Kafka topic '${other.topic}'"))
  }

  test("settled records are deleted from the topic, and one mark for each partition remains") {
    val place = new Place
    broker.createTopic(place.topic)
    val queue = place.open()
    (0 until 30).foreach(seq => queue.append(record("a", seq.toLong)))
    (0 until 30 by 3).foreach(from => queue.settle(queue.names().filter(n => n.seq >= from && n.seq < from + 3)))
    assert(place.marks == 1 && place.open().names().isEmpty)
    assert(broker.admin(KafkaQueueTest.beginning(_, place.topic)) == 30)
  }

  test("a record that stays pending holds up neither the records behind it nor the marks") {
    val place = new Place
    broker.createTopic(place.topic)
    val queue = place.open()
    queue.append(record("held", 5))
    (0 until 20).foreach(seq => queue.append(record("a", seq.toLong)))
    queue.settle(queue.names().filter(_.lane == "a"))
    val again = place.open()
    assert(keys(again.names()) == Seq("held" -> 5L) && again.stats().records == 1)
    assert(broker.admin(KafkaQueueTest.beginning(_, place.topic)) == 0)
    place.open().settle(again.names())
    assert(again.names().isEmpty && broker.admin(KafkaQueueTest.beginning(_, place.topic)) == 21)
  }

  test("a record that is longer than a message is a file, until it is settled") {
    val place = new Place
    broker.createTopic(place.topic, "max.message.bytes" -> "20000")
    val queue = place.open()
    val long = record("läne/1", 0).copy(writer = "w" * 100000)
    queue.append(long)
    queue.append(record("b", 0))
    val other = place.open()
    assert(other.poll(Unlimited).records.flatMap(_.content.toOption).find(_.lane == "läne/1").contains(long))
    assert(place.spilled == 1 && other.stats().bytes > 100000)
    other.settle(other.names().filter(_.lane == "läne/1"))
    assert(place.spilled == 0 && keys(queue.names()) == Seq("b" -> 0L))
  }

  test("a file of a long record that is damaged or missing is a problem of its record") {
    val place = new Place
    broker.createTopic(place.topic, "max.message.bytes" -> "20000")
    val queue = place.open()
    (0 until 2).foreach(seq => queue.append(record("a", seq.toLong).copy(writer = "w" * 100000)))
    val spilled = place.files.list(SpoolNames.Spilled).map(_.path).sorted
    place.files.replace(spilled.head, "short".getBytes)
    place.files.delete(spilled(1))
    assert(queue.pendingOf("a").map(_.content.left.toOption.get.code) == Seq(RecordProblem.Damaged, RecordProblem.Lost))
  }

  test("a message of another application is reported") {
    val (queue, _) = open()
    send(place.get.topic, null, "hello")
    val found = queue.poll(Unlimited).records.head
    assert(found.content.left.exists(_.message.contains("another application writes to the topic")))
    assert(new String(found.bytes) == "hello" && queue.poll(Unlimited).records.map(_.name) == Seq(found.name))
    queue.settle(Seq(found.name))
    assert(queue.names().isEmpty)
  }

  test("records that are deleted before they are settled are reported as lost, until that is settled") {
    val place = new Place
    broker.createTopic(place.topic)
    val queue = place.open()
    (0 until 5).foreach(seq => queue.append(record("a", seq.toLong)))
    queue.settle(queue.names().filter(_.seq < 2))
    (0 until 3).foreach(seq => queue.append(record("b", seq.toLong)))
    broker.deleteRecords(place.topic)
    queue.append(record("a", 5))
    Seq(place.open(), queue).foreach { q =>
      val found = q.poll(Unlimited).records
      val (lost, read) = found.partition(_.content.isLeft)
      assert(lost.map(_.content.left.toOption.get.code) == Seq(RecordProblem.Lost))
      assert(lost.head.content.left.exists(_.message.contains("partition 0, offsets ")), lost)
      assert(keys(read.map(_.name)).contains("a" -> 5L))
      assert(q.poll(Unlimited).records.map(_.name) == found.map(_.name), "both polls agree")
      assert(intercept[UnreadableRecordException](q.pendingFiles().toSeq).getMessage.contains("discard"))
    }
    val last = place.open()
    last.settle(last.names().filter(_.lane.startsWith("kafka-lost")))
    assert(keys(last.names()) == Seq("a" -> 5L) && keys(place.open().names()) == Seq("a" -> 5L))
  }

  test("records of a topic from before it became a queue are no loss") {
    val place = new Place
    broker.createTopic(place.topic)
    send(place.topic, "old".getBytes, "old")
    broker.deleteRecords(place.topic)
    assert(place.open().names().isEmpty)
  }

  test("a topic that is deleted ends the queue, and one that is created again is another queue") {
    val place = new Place
    val queue = place.open()
    queue.append(record("a", 0))
    broker.deleteTopic(place.topic)
    assert(reasonOf(queue.names()).contains("the Kafka topic was deleted"))
    assert(reasonOf(place.open()).contains("does not exist any more"))
    broker.createTopic(place.topic)
    assert(reasonOf(queue.append(record("a", 1))).contains("the topic was deleted since the queue was opened"))
    assert(reasonOf(queue.names()).contains("the Kafka topic was deleted"))
    val again = place.open()
    assert(again.identity != queue.identity && QueueIdentity.read(place.files).map(_.id).contains(queue.identity))
    again.adopt()
    assert(QueueIdentity.read(place.files).map(_.id).contains(again.identity))
  }

  Seq(
    ("cleanup.policy", "compact", "compaction deletes records"),
    ("cleanup.policy", "compact,delete", "compaction deletes records"),
    ("retention.ms", "3600000", "Kafka may delete records before they are committed"),
    ("retention.bytes", "1000000", "Kafka may delete records before they are committed"),
    ("unclean.leader.election.enable", "true", "an election may drop records"),
    ("max.message.bytes", "1000", "the least is 16384")
  ).foreach { case (key, value, why) =>
    test(s"a topic with $key=$value is refused") {
      val place = new Place
      broker.createTopic(place.topic, key -> value)
      val reason = reasonOf(place.open())
      assert(reason.startsWith(s"Cannot use the Kafka topic '${place.topic}': its $key is $value, and $why"), reason)
      assert(QueueIdentity.read(place.files).isEmpty)
    }
  }

  test("a class path without the client, and a missing file of client properties, are explained") {
    val reason = reasonOf(KafkaLibrary.check("db.events", ClassLoader.getPlatformClassLoader))
    assert(reason.contains("Add org.apache.kafka:kafka-clients:3.9.1"))
    assert(reasonOf((new Place).open(settings.copy(clientConfig = Some("/nowhere")))).contains("does not exist"))
  }
}

object KafkaQueueTest {
  def identity(settings: KafkaSettings, uuid: String, files: IngestFiles): String = {
    val queue = KafkaQueue.open(settings, "db.events", uuid, files)
    try queue.identity
    finally queue.close()
  }

  /** The first offset of partition 0. */
  def beginning(admin: Admin, topic: String): Long = {
    val partition = new TopicPartition(topic, 0)
    admin.listOffsets(Map(partition -> OffsetSpec.earliest()).asJava).all().get().get(partition).offset()
  }
}
