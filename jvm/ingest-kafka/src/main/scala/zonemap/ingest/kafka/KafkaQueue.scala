// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

import java.util.concurrent.ExecutionException

import scala.annotation.tailrec
import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.Admin
import org.apache.kafka.clients.consumer.KafkaConsumer
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerConfig}
import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.serialization.{ByteArrayDeserializer, ByteArraySerializer}
import org.slf4j.LoggerFactory

import zonemap.ingest.queue._
import zonemap.ingest.record._
import zonemap.ingest.store.IngestFiles

/**
 * The queue in a Kafka topic of its table. The identity of the queue is the id of the topic. Records that are too long
 * for a message are files of the ingest root, and so are the marks of settled offsets. Thread-safe; any number of
 * processes may use the same topic.
 *
 * No offset takes part in the decision whether a record is committed: the watermarks of the table's state decide. Marks
 * decide where reading starts, and show which deleted records were not settled.
 */
private[zonemap] final class KafkaQueue private (
    settings: KafkaSettings,
    topic: KafkaTopic,
    incarnation: TopicIncarnation,
    files: IngestFiles,
    createdAtMillis: Long)
    extends CommitQueue {
  import KafkaQueue._

  private val log = new KafkaLog(
    topic,
    incarnation.id,
    new SettledMarks(files, incarnation.id),
    createdAtMillis,
    () => new KafkaConsumer(settings.client(Consumer: _*), new ByteArrayDeserializer, new ByteArrayDeserializer)
  )
  @volatile private var hasProducer = false
  private lazy val producer = {
    hasProducer = true
    new KafkaProducer(settings.client(Producer: _*), new ByteArraySerializer, new ByteArraySerializer)
  }

  /** The longest value of a message. */
  private lazy val maxValueBytes: Int = {
    val request =
      Option(settings.client().getProperty(ProducerConfig.MAX_REQUEST_SIZE_CONFIG)).fold(DefaultRequestBytes)(_.toInt)
    math.min(topic.maxMessageBytes(), request) - NameBytes
  }

  override def identity: String = incarnation.id

  override def description: String = s"kafka topic ${topic.name} at ${settings.servers}"

  override def warning: Option[String] = topic.warning(incarnation.replicas)

  override def adopt(): Unit = KafkaQueue.adopt(topic, incarnation, files)

  override def append(record: IngestRecord): Receipt = {
    val bytes = RecordCodec.encodeChecked(record)
    val value = if (bytes.length > maxValueBytes) SpilledRecord.write(files, record, bytes) else bytes
    val sent =
      try producer.send(KafkaMessage.of(topic.name, record, value)).get()
      catch { case e: ExecutionException => throw notAcknowledged(record, e.getCause) }
    try checkIncarnation(record)
    catch { case e: KafkaException => throw notAcknowledged(record, e) }
    Receipt(
      record.tableUuid,
      record.branch,
      record.lane,
      record.seq,
      record.nonce,
      s"kafka topic ${topic.name}, partition ${sent.partition()}, offset ${sent.offset()}"
    )
  }

  private def notAcknowledged(record: IngestRecord, cause: Throwable) = new IllegalStateException(
    s"Cannot append the record ${record.seq} of lane '${record.lane}' to the Kafka topic '${topic.name}': the brokers " +
      s"did not acknowledge it: $cause. It may be in the topic or not; append it again with the same number.",
    cause
  )

  /** The acknowledgement may come from a topic of the same name that replaced the one that was opened. */
  private def checkIncarnation(record: IngestRecord): Unit =
    if (!topic.find().exists(_.id == incarnation.id))
      throw new IllegalStateException(
        s"Cannot append the record ${record.seq} of lane '${record.lane}' to the Kafka topic '${topic.name}': the topic " +
          "was deleted since the queue was opened. Open the queue again; ingest_status shows the next step.")

  override def poll(limits: PollLimits): Poll = {
    val entries = pending()
    val byName = entries.map(entry => entry.name -> entry).toMap
    val order = PollOrder.of(entries.map(entry => ListedRecord(entry.name, entry.sizeBytes)), limits.deferred)
    val delivery = new PollDelivery(limits, _.map(listed => read(byName(listed.name)))).run(order)
    Poll(delivery.delivered, delivery.isComplete, delivery.failed)
  }

  /** The record of an entry. A store that fails to read the file of a long record holds up the lane of this record only. */
  private def read(entry: LogEntry): Either[StuckRecord, Option[Delivered]] =
    try Right(deliver(entry))
    catch {
      case NonFatal(e) if entry.value.exists(SpilledRecord.parse(_).isDefined) =>
        Left(StuckRecord(entry.name, s"its record cannot be read: $e"))
    }

  override def names(): Seq[RecordName] = pending().map(_.name)

  override def pendingOf(lane: String): LazyList[Delivered] =
    pending().filter(_.name.lane == lane).sortBy(_.name.seq).to(LazyList).flatMap(deliver)

  /** A message that was sent twice is delivered once. */
  private def pending(): Seq[LogEntry] = log.refresh().distinctBy(_.key)

  /** The record of an entry; `None` if it was settled meanwhile. */
  private def deliver(entry: LogEntry): Option[Delivered] = entry.problem match {
    case Some(problem) => Some(Delivered(entry.name, Left(problem), log.value(entry).getOrElse(Array.emptyByteArray)))
    case None =>
      log.value(entry) match {
        case None => unlessSettled(entry, s"the Kafka topic '${topic.name}' no longer has it", Array.emptyByteArray)
        case Some(value) => SpilledRecord.parse(value).fold(decoded(entry, value))(spilled(entry, value, _))
      }
  }

  private def decoded(entry: LogEntry, bytes: Array[Byte]): Option[Delivered] = Some(Delivered.of(entry.name, bytes))

  private def spilled(entry: LogEntry, value: Array[Byte], pointer: SpilledRecord): Option[Delivered] =
    pointer.read(files, entry.name) match {
      case Some(Right(bytes))  => decoded(entry, bytes)
      case Some(Left(problem)) => Some(Delivered(entry.name, Left(problem), value))
      case None => unlessSettled(entry, s"its file '${files.root}/${SpilledRecord.path(entry.name)}' is missing", value)
    }

  /** Committers delete a record only after a mark states that it is settled. */
  private def unlessSettled(entry: LogEntry, why: String, bytes: Array[Byte]): Option[Delivered] =
    Option.when(!log.isSettled(entry))(Delivered(entry.name, Left(RecordProblem(RecordProblem.Lost, why)), bytes))

  override def settle(records: Seq[RecordName]): Unit = if (records.nonEmpty) {
    log
      .settle(records.map(name => (name.lane, name.seq, name.nonce)).toSet)
      .filter(_.value.forall(SpilledRecord.parse(_).isDefined))
      .foreach(entry => files.delete(SpilledRecord.path(entry.name)))
  }

  override def pendingFiles(): Iterator[String] = pending().iterator.flatMap(deliver).flatMap { delivered =>
    delivered.content match {
      case Right(record) => record.files.map(DataFilePath.of)
      case Left(problem) =>
        throw new UnreadableRecordException(
          s"Cannot list the pending files of the Kafka topic '${topic.name}': record ${delivered.name.seq} of lane " +
            s"'${delivered.name.lane}' cannot be read: ${problem.message}. Let the committer quarantine it, then discard " +
            "it with ingest_discard.")
    }
  }

  override def stats(): QueueStats = {
    val all = pending()
    QueueStats(
      all.size.toLong,
      all.map(_.sizeBytes).sum,
      all.map(_.name.appendedAtMillis).minOption,
      all.groupMapReduce(_.name.lane)(_ => 1L)(_ + _))
  }

  /** Closes every client, also if one of them fails to close. */
  override def close(): Unit =
    try log.close()
    finally
      try if (hasProducer) producer.close(CloseTimeout)
      finally topic.close()
}

private[zonemap] object KafkaQueue {
  private val logger = LoggerFactory.getLogger("zonemap.ingest")
  private val DefaultRequestBytes = 1 << 20

  /** What a message has beside its value: the lane, the headers and the batch, at most. */
  private val NameBytes = 4096
  private val CloseTimeout = java.time.Duration.ofSeconds(10)

  private val Producer = Seq("acks" -> "all", "enable.idempotence" -> "true", "linger.ms" -> "0")
  private val Consumer = Seq(
    "enable.auto.commit" -> "false",
    "auto.offset.reset" -> "none",
    "isolation.level" -> "read_uncommitted",
    "allow.auto.create.topics" -> "false")

  /**
   * Opens the queue of a table. Its first process creates the topic, if nobody has, and names it in the ingest root.
   *
   * If the topic is not the one that the ingest root names, the queue is opened with the identity of the topic, and the
   * committers stop because of it.
   *
   * @param table the name of the table, for people
   * @throws IllegalArgumentException if the ingest root belongs to another queue, or the topic may lose records
   * @throws IllegalStateException if the Kafka client is missing, or the topic was deleted
   */
  def open(settings: KafkaSettings, table: String, tableUuid: String, files: IngestFiles): KafkaQueue = {
    KafkaLibrary.check(table)
    val topic = new KafkaTopic(settings.topic(tableUuid), Admin.create(settings.client()))
    try open(settings, topic, files)
    catch {
      case e: Throwable =>
        topic.close()
        throw e
    }
  }

  @tailrec
  private def open(settings: KafkaSettings, topic: KafkaTopic, files: IngestFiles): KafkaQueue =
    QueueIdentity.read(files) match {
      case None =>
        val found = topic.find().getOrElse(topic.create())
        topic.checkConfigs()
        if (found.replicas == 1)
          logger.warn(s"The Kafka topic '${topic.name}' has one replica: accepted records are lost with its disk.")
        create(topic, found, files)
        open(settings, topic, files)
      case Some(named) =>
        checkNamed(named, topic, files)
        val found = topic.find().getOrElse(throw deleted(topic, files))
        topic.checkConfigs()
        new KafkaQueue(settings, topic, found, files, named.createdAtMillis)
    }

  private def checkNamed(named: QueueIdentity, topic: KafkaTopic, files: IngestFiles): Unit =
    if (!named.topic.contains(topic.name))
      throw new IllegalArgumentException(
        s"Cannot use the Kafka topic '${topic.name}' as the queue of '${files.root}': its queue is " +
          s"${named.topic.fold("a spool")(other => s"the Kafka topic '$other'")}. Use the same queue in all writers and " +
          "committers of the table. To change it, stop the writers, commit all pending records, and delete " +
          s"'${SpoolNames.QueueId}' of the root; then run ingest_reset.")

  private def deleted(topic: KafkaTopic, files: IngestFiles) = new IllegalStateException(
    s"Cannot open the queue of '${files.root}': the Kafka topic '${topic.name}' does not exist any more. Records in it " +
      "that were not committed are lost. Create the topic with kafka-topics.sh, and choose the watermarks with " +
      "ingest_reset.")

  private def create(topic: KafkaTopic, found: TopicIncarnation, files: IngestFiles): Unit = {
    startHere(topic, found, files)
    QueueIdentity.create(files, identityOf(topic, found)): Unit
  }

  private def adopt(topic: KafkaTopic, found: TopicIncarnation, files: IngestFiles): Unit =
    if (!QueueIdentity.read(files).exists(_.id == found.id)) {
      startHere(topic, found, files)
      QueueIdentity.replace(files, identityOf(topic, found))
    }

  private def identityOf(topic: KafkaTopic, found: TopicIncarnation): QueueIdentity =
    QueueIdentity(found.id, Some(topic.name), System.currentTimeMillis())

  /** What a topic had before it became a queue is no loss. */
  private def startHere(topic: KafkaTopic, found: TopicIncarnation, files: IngestFiles): Unit = {
    val marks = new SettledMarks(files, found.id)
    topic.beginnings(found.partitions).foreach { case (partition, offset) =>
      if (offset > 0) marks.write(SettledMark(found.id, partition, offset, OffsetRanges.Empty))
    }
  }
}
