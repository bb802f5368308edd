// SPDX-License-Identifier: Apache-2.0
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
 * @param id the incarnation of the topic. It is part of the lanes of reports, whose numbers are offsets: the offsets of
 *   another incarnation start at 0 again
 */
private[kafka] final class PartitionLog(topic: String, id: String, partition: Int) {
  import PartitionLog._

  private val entries = mutable.TreeMap.empty[Long, LogEntry]
  private val foreign = new ForeignMessages
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
    val read = known.filter(_.problem.isEmpty).filter(_.value.isEmpty).map(_.offset)
    read.foreach(entries.remove)
    val gone = OffsetRanges.of(read.iterator).ranges ++ unread(settled)
    if (gone.nonEmpty) {
      val entry = lost(gone, lostMillis)
      entries.put(entry.offset, entry): Unit
    }
    next = math.max(next, begin)
    foreign.retain(entries.contains)
    isOpen = true
  }

  /** The pending offsets from the position to `begin`. */
  private def unread(settled: SettledOffsets): Seq[(Long, Long)] =
    settled.pending.within(next, begin).ranges ++
      Seq(math.max(next, settled.upTo) -> begin).filter { case (from, until) => from < until }

  /** @param ranges the first offset of each range, and the one behind its last; a partition may lose billions of them */
  private def lost(ranges: Seq[(Long, Long)], lostMillis: Long): LogEntry = {
    val (first, last) = (ranges.map(_._1).min, ranges.map(_._2).max - 1)
    val count = ranges.map { case (from, until) => until - from }.sum
    val problem = RecordProblem(
      RecordProblem.Lost,
      s"$count messages of the Kafka topic '$topic', partition $partition, offsets $first to $last, were " +
        "deleted before they were committed. Their data files remain until ingest_collect_garbage runs, which waits until this " +
        "record is discarded: add the files to the table first",
      isReport = true
    )
    val text = problem.message.getBytes(java.nio.charset.StandardCharsets.UTF_8)
    report(last, s"kafka-lost-$id-$partition", lostMillis, problem, text.length.toLong, Some(text))
  }

  /**
   * Adds a message without the name of a record to the reports of such messages. A report has the offset and the value of
   * its last message; the offsets of its other messages count as settled.
   *
   * @param value its value, unless memory is short
   * @param isRecord whether the value is a record, whose producer has left out its name. It has a report of its own, so
   *   that no record is deleted before it is in quarantine
   * @return the former entry of the report, which is pending no more
   */
  def addForeign(
      offset: Long,
      sizeBytes: Long,
      value: Option[Array[Byte]],
      atMillis: Long,
      isRecord: Boolean): Option[LogEntry] = {
    val (now, before) =
      if (isRecord) (ForeignReport(offset, offset, 1, atMillis), None) else foreign.add(offset, atMillis)
    val problem =
      RecordProblem(
        RecordProblem.Invalid,
        now.text(s"partition $partition of the Kafka topic '$topic'"),
        isReport = true)
    val former = before.flatMap(entries.remove)
    add(report(offset, s"kafka-unnamed-$id-$partition", now.sinceMillis, problem, sizeBytes, value))
    former
  }

  private def report(
      offset: Long,
      lane: String,
      atMillis: Long,
      problem: RecordProblem,
      sizeBytes: Long,
      value: Option[Array[Byte]]): LogEntry =
    LogEntry(partition, offset, RecordName(lane, offset, f"$offset%016x", atMillis), sizeBytes, value, Some(problem))

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
  def mark(): SettledMark = {
    val pending = OffsetRanges.of(entries.keysIterator)
    val upTo = pending.ranges.lift(MaxRanges).fold(next)(_._1)
    SettledMark(id, partition, upTo, pending.within(0, upTo))
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

  /** The ranges of pending offsets that a mark lists, at most; a mark of them is shorter than a reader accepts. */
  private val MaxRanges = 20000
}
