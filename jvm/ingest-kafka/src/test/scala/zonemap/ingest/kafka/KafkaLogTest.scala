// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

import java.lang.reflect.Proxy
import java.nio.file.Files
import java.util.UUID

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.{Admin, DescribeTopicsResult, TopicDescription}
import org.apache.kafka.clients.consumer._
import org.apache.kafka.common.{KafkaFuture, Node, TopicPartition, TopicPartitionInfo, Uuid}
import org.scalatest.funsuite.AnyFunSuite

import zonemap.ingest.queue.{Delivered, RecordName}
import zonemap.ingest.record.{IngestRecord, QueuedFile, RecordCodec, RecordProblem}
import zonemap.ingest.store.IngestFiles

/** What a log concludes from the answers of brokers, which a consumer of the client library imitates. */
class KafkaLogTest extends AnyFunSuite {
  private val Name = "events"
  private val Partition = new TopicPartition(Name, 0)
  private val entry = LogEntry(0, 5, RecordName("a", 0, "0123456789abcdef", 0), 10, value = None)

  private def described(id: Uuid): TopicDescription = {
    val node = new Node(1, "localhost", 9092)
    val info = new TopicPartitionInfo(0, node, Seq(node).asJava, Seq(node).asJava)
    new TopicDescription(Name, false, Seq(info).asJava, null, id)
  }

  /** An administrator who knows the topic. */
  private def admin(id: Uuid): Admin = {
    val found = KafkaFuture.completedFuture(described(id))
    val result = new DescribeTopicsResult(null, Map(Name -> found).asJava) {}
    Proxy
      .newProxyInstance(
        getClass.getClassLoader,
        Array[Class[_]](classOf[Admin]),
        (_, method, _) =>
          method.getName match {
            case "describeTopics" => result
            case "deleteRecords"  => throw new IllegalStateException("the administrator may not delete records")
            case other            => fail(other)
          }
      )
      .asInstanceOf[Admin]
  }

  /** A partition from `begin` to `end`, of which the brokers deliver these messages. */
  private def consumer(
      begin: Long,
      end: Long,
      messages: (Long, Array[Byte])*): MockConsumer[Array[Byte], Array[Byte]] = {
    val consumer = new MockConsumer[Array[Byte], Array[Byte]](OffsetResetStrategy.NONE)
    consumer.assign(Seq(Partition).asJava)
    consumer.updateBeginningOffsets(Map(Partition -> Long.box(begin)).asJava)
    consumer.updateEndOffsets(Map(Partition -> Long.box(end)).asJava)
    messages.foreach { case (offset, value) =>
      consumer.addRecord(new ConsumerRecord(Name, 0, offset, "a".getBytes, value))
    }
    consumer
  }

  private def log(consumer: MockConsumer[Array[Byte], Array[Byte]], maxCachedBytes: Long = 64 << 20): KafkaLog = {
    val id = Uuid.randomUuid()
    val text = new UUID(id.getMostSignificantBits, id.getLeastSignificantBits).toString
    val files = IngestFiles.of(null, Files.createTempDirectory("kafka-log").toString)
    val topic = new KafkaTopic(Name, admin(id))
    new KafkaLog(topic, text, new SettledMarks(files, text), 0L, () => consumer, 50L * 1000000, maxCachedBytes)
  }

  private def truncate(consumer: MockConsumer[Array[Byte], Array[Byte]]): Unit = consumer.setPollException(
    new LogTruncationException(Map(Partition -> Long.box(5)).asJava, Map(Partition -> new OffsetAndMetadata(3)).asJava))

  test("a record whose offset is not answered is not lost") {
    val error = intercept[IllegalStateException](log(consumer(0, 6)).value(entry))
    assert(error.getMessage.contains("do not deliver offset 5 of partition 0"))
  }

  test("a record is lost if the partition begins behind it") {
    assert(log(consumer(6, 8, 7L -> "x".getBytes)).value(entry).isEmpty)
    assert(log(consumer(6, 6)).value(entry).isEmpty)
  }

  test("billions of offsets that were deleted before they were committed are one report") {
    val end = 5000000000L
    val lost = log(consumer(end, end)).refresh()
    assert(lost.map(_.offset) == Seq(end - 1) && lost.head.problem.exists(_.code == RecordProblem.Lost))
    assert(lost.head.problem.exists(_.message.startsWith(s"$end messages of the Kafka topic '$Name', partition 0, ")))
    assert(lost.head.problem.exists(_.message.contains(s"offsets 0 to ${end - 1}, were deleted")))
  }

  test("a message without a value is a damaged record") {
    val value = log(consumer(0, 6, 5L -> null)).value(entry)
    assert(value.exists(_.isEmpty))
    assert(Delivered.of(entry.name, value.get).content.left.exists(_.code == RecordProblem.Damaged))
  }

  /** Appends foreign messages to the partition, and moves its end. */
  private def append(consumer: MockConsumer[Array[Byte], Array[Byte]], from: Long, until: Long): Unit = {
    (from until until).foreach { offset =>
      consumer.addRecord(new ConsumerRecord(Name, 0, offset, "a".getBytes, Array.fill[Byte](100)(1)))
    }
    consumer.updateEndOffsets(Map(Partition -> Long.box(until)).asJava)
  }

  test("the values of foreign messages are in memory only as far as there is room") {
    val brokers = consumer(0, 0)
    val read = log(brokers, maxCachedBytes = 150)
    val entries = (0L until 4L).map { offset =>
      append(brokers, offset, offset + 1)
      read.refresh()
    }.last
    assert(entries.map(_.value.isDefined) == Seq(true, true, false, false) && entries.forall(_.sizeBytes == 100))
    assert(entries.forall(_.problem.exists(_.code == RecordProblem.Invalid)))
    assert(log(consumer(0, 6, 5L -> "x".getBytes)).value(entry).map(new String(_)).contains("x"))
  }

  test("a hundred thousand foreign messages are a few reports, which later messages leave as they are") {
    val brokers = consumer(0, 0)
    val read = log(brokers)
    val polls = (0L until 100000L by 1000L).map { from =>
      append(brokers, from, from + 1000)
      read.refresh()
    }
    assert(polls.map(_.size).max == ForeignMessages.MostReports)
    polls.sliding(2).foreach(two => assert(two.head.init.forall(entry => two.last.exists(_.key == entry.key))))
    val messages = polls.last.flatMap(_.problem).map(_.message)
    assert(
      messages.head.startsWith(s"1000 messages of partition 0 of the Kafka topic '$Name', offsets 0 to 999, have no"))
    assert(messages.last.startsWith("85000 messages ") && messages.last.contains("offsets 15000 to 99999"))
    read.settle(polls.last.map(_.key).toSet)
    assert(read.refresh().isEmpty)
    append(brokers, 100000, 100001)
    assert(read.refresh().flatMap(_.problem).map(_.message.takeWhile(_ != ' ')) == Seq("offset"))
  }

  test("records without a name are reported one by one, so that none is deleted before it is in quarantine") {
    val file = QueuedFile(0, """{"file-path":"data/a.parquet"}""")
    val record = IngestRecord("q", "t", "main", "a", 0, -1, "0123456789abcdef", "w", 0, 0, -1, 2, 1, 1, Seq(file))
    val bytes = RecordCodec.encode(record)
    val foreign = "x".getBytes
    val read = log(consumer(0, 5, 0L -> foreign, 1L -> bytes, 2L -> foreign, 3L -> bytes, 4L -> foreign)).refresh()
    assert(read.map(_.offset) == Seq(1L, 3L, 4L) && read.forall(_.problem.exists(_.isReport)))
    assert(read.take(2).flatMap(_.value).forall(RecordCodec.decode(_).contains(record)))
  }

  test("a log that the brokers have truncated stops the queue") {
    val again = consumer(0, 6, 5L -> "x".getBytes)
    truncate(again)
    assert(intercept[IllegalStateException](log(again).value(entry)).getMessage.contains("have truncated it"))
    val read = consumer(0, 1, 0L -> "x".getBytes)
    truncate(read)
    assert(intercept[IllegalStateException](log(read).refresh()).getMessage.contains("have truncated it"))
    assert(log(consumer(0, 1, 0L -> "x".getBytes)).refresh().size == 1)
  }

  test("a topic without an id is refused") {
    val error = intercept[IllegalStateException](KafkaTopic.incarnation(described(Uuid.ZERO_UUID)))
    assert(error.getMessage.startsWith("Cannot use the Kafka topic 'events': the brokers give it no id"))
  }

  test("a topic that keeps a record with one of its brokers only has a warning") {
    val warning = KafkaTopic.warningOf(Name, replicas = 3, minInSync = 1)
    assert(warning.exists(_.contains("3 replicas and min.insync.replicas=1")))
    assert(KafkaTopic.warningOf(Name, 3, 2).isEmpty && KafkaTopic.warningOf(Name, 1, 1).isEmpty)
  }
}
