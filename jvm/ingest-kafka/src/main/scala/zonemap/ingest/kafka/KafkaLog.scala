// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

import java.time.Duration

import scala.annotation.tailrec
import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.{Consumer, ConsumerRecord, InvalidOffsetException, LogTruncationException}
import org.apache.kafka.common.TopicPartition

/**
 * The pending records of a topic. Reads all partitions without a consumer group: each committer and each producer reads
 * the whole log from the first pending record, so none waits for another one.
 *
 * Thread-safe.
 *
 * @param id the incarnation of the topic that this log reads
 * @param openedMillis when the queue was created
 * @param noAnswerNanos after this time without a message, reading fails
 * @param maxCachedBytes values that are kept in memory, at most; others are read again
 */
private[kafka] final class KafkaLog(
    topic: KafkaTopic,
    id: String,
    marks: SettledMarks,
    openedMillis: Long,
    newConsumer: () => Consumer[Array[Byte], Array[Byte]],
    noAnswerNanos: Long = KafkaLog.NoAnswerNanos,
    maxCachedBytes: Long = KafkaLog.MaxCachedBytes)
    extends AutoCloseable {
  import KafkaLog._

  private lazy val consumer = newConsumer()
  private val partitions = mutable.TreeMap.empty[Int, PartitionLog]
  private var cachedBytes = 0L

  /** Whether the consumer may stand elsewhere than at the positions of the partitions. */
  private var isMoved = true

  /** The pending records now: each whose append has returned, and perhaps some whose append is under way. */
  def refresh(): Seq[LogEntry] = synchronized {
    read(MaxAttempts)
    pending
  }

  private def pending: Seq[LogEntry] = partitions.values.flatMap(_.pending).toSeq

  /** Reads the topic again if Kafka deletes records at the same moment. */
  @tailrec
  private def read(attempts: Int): Unit = {
    val isRead =
      try {
        readOnce()
        true
      } catch {
        case e: LogTruncationException => throw truncated(e)
        case e: InvalidOffsetException => if (attempts == 0) throw e else false
      }
    if (!isRead) read(attempts - 1)
  }

  private def readOnce(): Unit = {
    val all = assigned()
    val begin = consumer.beginningOffsets(all.asJava)
    val settled = marks.read()
    val end = consumer.endOffsets(all.asJava)
    lazy val lostMillis = marks.newestMillis.getOrElse(openedMillis)
    all.foreach { tp =>
      val log = partitions(tp.partition())
      val before = log.position
      log.align(begin.get(tp), settled.getOrElse(tp.partition(), SettledOffsets(Nil)), lostMillis)
      val known = math.max(log.position, settled.get(tp.partition()).fold(0L)(_.upTo))
      if (known > end.get(tp)) throw truncated(tp, known, end.get(tp))
      if (isMoved || log.position != before) consumer.seek(tp, log.position)
    }
    isMoved = true
    val deadline = System.nanoTime() + noAnswerNanos
    cachedBytes = pending.map(entry => lengthOf(entry.value)).sum
    readUpTo(all.map(tp => tp -> end.get(tp).longValue()).toMap, settled, deadline)
    isMoved = false
  }

  /** The partitions of the topic, which may have become more. */
  private def assigned(): Seq[TopicPartition] = {
    val now = topic
      .find()
      .filter(_.id == id)
      .getOrElse(
        throw new IllegalStateException(
          s"Cannot read the queue '${topic.name}': the Kafka topic was deleted. Records that were not committed are " +
            "lost; ingest_status shows the next step."))
    (0 until now.partitions).foreach(p => partitions.getOrElseUpdate(p, new PartitionLog(topic.name, id, p)))
    val all = partitions.keys.map(new TopicPartition(topic.name, _)).toSeq
    if (consumer.assignment() != all.toSet.asJava) {
      consumer.assign(all.asJava)
      isMoved = true
    }
    all
  }

  private def truncated(tp: TopicPartition, position: Long, end: Long) = new IllegalStateException(
    s"Cannot read the queue '${topic.name}': partition ${tp.partition()} ends at offset $end, and offsets up to " +
      s"$position were read or committed. The brokers have lost records, or the topic was restored from a copy. " +
      Remedy)

  /** A new leader has another log than the one that was read. */
  private def truncated(error: LogTruncationException) = new IllegalStateException(
    s"Cannot read the queue '${topic.name}': the brokers have truncated it behind offsets that were read: " +
      s"${error.getMessage}. They have lost records. $Remedy",
    error
  )

  @tailrec
  private def readUpTo(end: Map[TopicPartition, Long], settled: Map[Int, SettledOffsets], deadline: Long): Unit =
    if (end.exists { case (tp, offset) => partitions(tp.partition()).position < offset }) {
      if (System.nanoTime() > deadline)
        throw new IllegalStateException(
          s"Cannot read the queue '${topic.name}': the brokers deliver no records. Find out whether all partitions of " +
            "the topic have a leader.")
      val messages = consumer.poll(Duration.ofMillis(PollMillis)).asScala.toSeq
      messages.foreach { message =>
        if (!settled.get(message.partition()).exists(_(message.offset()))) add(message)
      }
      end.keys.foreach(tp => partitions(tp.partition()).skipTo(consumer.position(tp)))
      readUpTo(end, settled, if (messages.isEmpty) deadline else System.nanoTime() + noAnswerNanos)
    }

  private def add(message: ConsumerRecord[Array[Byte], Array[Byte]]): Unit = {
    val log = partitions(message.partition())
    val value = valueOf(message)
    val cached = Option.when(cachedBytes < maxCachedBytes)(value)
    val former = KafkaMessage.name(message) match {
      case None =>
        val isRecord = KafkaMessage.isRecord(value)
        log.addForeign(message.offset(), value.length.toLong, cached, message.timestamp(), isRecord)
      case Some(name) =>
        val bytes = SpilledRecord.parse(value).fold(value.length.toLong)(_.length.toLong)
        log.add(LogEntry(message.partition(), message.offset(), name, bytes, cached))
        None
    }
    cachedBytes += lengthOf(cached) - lengthOf(former.flatMap(_.value))
  }

  private def lengthOf(value: Option[Array[Byte]]): Long = value.fold(0L)(_.length.toLong)

  /** A message without a value has no bytes, which are no record. */
  private def valueOf(message: ConsumerRecord[Array[Byte], Array[Byte]]): Array[Byte] =
    Option(message.value()).getOrElse(Array.emptyByteArray)

  /**
   * The value of a record, which is read again if it is not in memory; `None` if Kafka has deleted it: the partition
   * begins behind it.
   *
   * @throws IllegalStateException if the brokers do not deliver it, although the partition begins before it
   */
  def value(entry: LogEntry): Option[Array[Byte]] = entry.value.orElse(synchronized(readAgain(entry)))

  private def readAgain(entry: LogEntry): Option[Array[Byte]] = {
    val tp = new TopicPartition(topic.name, entry.partition)
    isMoved = true
    consumer.assign(Seq(tp).asJava)
    consumer.seek(tp, entry.offset)
    val deadline = System.nanoTime() + noAnswerNanos
    def next(): Option[ConsumerRecord[Array[Byte], Array[Byte]]] =
      consumer.poll(Duration.ofMillis(PollMillis)).asScala.headOption match {
        case None if System.nanoTime() < deadline => next()
        case first                                => first
      }
    val found =
      try next()
      catch {
        case e: LogTruncationException => throw truncated(e)
        case _: InvalidOffsetException => None
      }
    found.filter(_.offset() == entry.offset).map(valueOf).orElse {
      if (entry.offset >= consumer.beginningOffsets(Seq(tp).asJava).get(tp)) throw notDelivered(entry)
      None
    }
  }

  private def notDelivered(entry: LogEntry) = new IllegalStateException(
    s"Cannot read the queue '${topic.name}': the brokers do not deliver offset ${entry.offset} of partition " +
      s"${entry.partition}, which is not deleted. Find out whether the partition has a leader; the next pass tries again.")

  /** Whether a committer has settled the record since it was read. */
  def isSettled(entry: LogEntry): Boolean = synchronized {
    marks.read().get(entry.partition).exists(_(entry.offset))
  }

  /**
   * Removes records, and writes marks that state it.
   *
   * @return the removed records that a mark covers and that are pending nowhere else
   */
  def settle(keys: Set[(String, Long, String)]): Seq[LogEntry] = synchronized {
    if (partitions.isEmpty) read(MaxAttempts)
    val removed = partitions.values.flatMap(_.remove(keys)).toSeq
    val written = removed
      .map(_.partition)
      .distinct
      .map { p =>
        val mark = partitions(p).mark()
        marks.write(mark)
        p -> mark
      }
      .toMap
    val useless = written.keys.flatMap(p => partitions(p).takeUseless().map(p -> _)).toMap
    if (useless.nonEmpty) topic.trim(useless)
    val left = pending.map(_.key).toSet
    removed.filter(entry => written(entry.partition).covers(entry.offset) && !left(entry.key))
  }

  override def close(): Unit = synchronized(if (partitions.nonEmpty) consumer.close(CloseTimeout))
}

private[kafka] object KafkaLog {
  private val MaxAttempts = 10
  private val PollMillis = 200L
  private val NoAnswerNanos = 60L * 1000000000
  private val Remedy =
    "Find the lost data files in the table's folder, then delete the topic, create it again and run " +
      "ingest_reset."
  private val MaxCachedBytes = 64L << 20
  private val CloseTimeout = Duration.ofSeconds(5)
}
