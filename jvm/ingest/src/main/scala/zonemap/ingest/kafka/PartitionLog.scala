package zonemap.ingest.kafka

import scala.collection.mutable

import zonemap.ingest.queue.RecordName
import zonemap.ingest.record.RecordProblem

/**
 * A pending record in a partition.
 *
 * @param problem why the queue delivers no record here; its bytes are in `value`
 * @param value the value of the message, unless memory is short
 */
private[kafka] final case class LogEntry(
    partition: Int,
    offset: Long,
    name: RecordName,
    sizeBytes: Long,
    value: Option[Array[Byte]],
    problem: Option[RecordProblem] = None) {

  def key: (String, Long, String) = (name.lane, name.seq, name.nonce)
}

/**
 * The pending records of one partition, as far as they were read. Not thread-safe.
 *
 * @param topic the name of the topic, for people
 */
private[kafka] final class PartitionLog(topic: String, partition: Int) {
  import PartitionLog._

  private val entries = mutable.TreeMap.empty[Long, LogEntry]
  private var isOpen = false
  private var next = 0L

  /** The first offset that exists, as far as known. */
  private var begin = 0L

  /** The offset from which reading goes on. */
  def position: Long = next

  def pending: Iterable[LogEntry] = entries.values

  /**
   * Starts at the first pending offset, or catches up with the work of other committers.
   *
   * Offsets before `existing` exist no longer. The committers delete settled records only, so a deleted record that is
   * not settled is lost; it is replaced by one entry that reports the loss.
   *
   * @param settled read after `existing`, so that it contains each mark that a committer wrote before it deleted
   *   records
   * @param lostMillis a time before the loss
   */
  def align(existing: Long, settled: SettledOffsets, lostMillis: => Long): Unit = {
    if (!isOpen) next = settled.first
    entries.filterInPlace((offset, _) => !settled(offset))
    begin = existing
    val known = entries.valuesIterator.takeWhile(_.offset < begin).toSeq
    val gone = known.filter(_.problem.isEmpty).filter(_.value.isEmpty).map(_.offset) ++ unread(settled)
    gone.foreach(entries.remove)
    if (gone.nonEmpty) entries.put(gone.max, lost(gone, lostMillis)): Unit
    next = math.max(next, begin)
    isOpen = true
  }

  /** The pending offsets from the position to `begin`. */
  private def unread(settled: SettledOffsets): Seq[Long] =
    settled.pending.filter(o => o >= next && o < begin).toSeq ++ (math.max(next, settled.upTo) until begin)

  private def lost(offsets: Seq[Long], lostMillis: Long): LogEntry = {
    val (first, last) = (offsets.min, offsets.max)
    val problem = RecordProblem(
      RecordProblem.Lost,
      s"${offsets.size} messages of the Kafka topic '$topic', partition $partition, offsets $first to $last, were " +
        "deleted before they were committed. Their data files remain until ingest_gc runs, which waits until this " +
        "record is discarded: add the files to the table first"
    )
    report(last, s"kafka-lost-$partition", lostMillis, problem)
  }

  /** A message without the name of a record. */
  def unnamed(offset: Long, value: Array[Byte], atMillis: Long): LogEntry = {
    val problem = RecordProblem(
      RecordProblem.Invalid,
      s"offset $offset of partition $partition of the Kafka topic '$topic' has no lane, seq and nonce; another " +
        "application writes to the topic"
    )
    report(offset, s"kafka-unnamed-$partition", atMillis, problem).copy(value = Some(value))
  }

  private def report(offset: Long, lane: String, atMillis: Long, problem: RecordProblem) = {
    val text = problem.message.getBytes(java.nio.charset.StandardCharsets.UTF_8)
    LogEntry(
      partition,
      offset,
      RecordName(lane, offset, f"$offset%016x", atMillis),
      text.length.toLong,
      Some(text),
      Some(problem))
  }

  def add(entry: LogEntry): Unit = {
    entries.put(entry.offset, entry)
    next = math.max(next, entry.offset + 1)
  }

  /** Goes on behind offsets that have no message. */
  def skipTo(offset: Long): Unit = next = math.max(next, offset)

  /** Removes entries; returns them. */
  def remove(keys: Set[(String, Long, String)]): Seq[LogEntry] = {
    val removed = entries.valuesIterator.filter(entry => keys(entry.key)).toSeq
    removed.foreach(entry => entries.remove(entry.offset))
    removed
  }

  /** What is settled up to the position, or as far as a mark of bounded length can state it. */
  def mark(queueId: String): SettledMark = {
    val offsets = entries.keysIterator.take(MaxPending + 1).toSeq
    val upTo = if (offsets.size > MaxPending) offsets.last else next
    SettledMark(queueId, partition, upTo, offsets.take(MaxPending).toSet)
  }

  /** The offset before which no record is pending, if it has moved since the last call. */
  def takeUseless(): Option[Long] = {
    val first = entries.headOption.fold(next)(_._1)
    val isFurther = first > begin
    begin = math.max(begin, first)
    Option.when(isFurther)(first)
  }
}

private[kafka] object PartitionLog {

  /** The pending offsets that a mark lists, at most. */
  private val MaxPending = 1000
}
