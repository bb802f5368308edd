// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.queue

import zonemap.ingest.record.{IngestRecord, RecordCodec, RecordProblem}

/**
 * The durable receipt of an accepted record. The record will be committed exactly once, or it is quarantined and
 * reported.
 *
 * @param location the place of the record in its queue, for people
 */
private[zonemap] final case class Receipt(
    tableUuid: String,
    branch: String,
    lane: String,
    seq: Long,
    nonce: String,
    location: String)

/**
 * What a queue holds.
 *
 * @param oldestMillis when the oldest record was appended, by the clock of the store; `None` if there is none
 * @param byLane the records of each lane; empty if the queue does not count them
 */
private[zonemap] final case class QueueStats(
    records: Long,
    bytes: Long,
    oldestMillis: Option[Long],
    byLane: Map[String, Long] = Map.empty)

/**
 * The name of a record in a queue, which is known even if the record cannot be read.
 *
 * @param appendedAtMillis when the record was appended, by the clock of the store
 */
private[zonemap] final case class RecordName(lane: String, seq: Long, nonce: String, appendedAtMillis: Long)

/**
 * A record as a queue delivers it.
 *
 * @param content the record, or the reason why it cannot be read
 * @param bytes the bytes as stored; a record that is too long is cut
 */
private[zonemap] final case class Delivered(
    name: RecordName,
    content: Either[RecordProblem, IngestRecord],
    bytes: Array[Byte]) {

  /** Whether it is a report of the queue. The numbers of the lane of reports leave no gaps and no holes. */
  def isReport: Boolean = content.left.exists(_.isReport)

  /** Its place in its lane only. */
  def withoutFiles: Delivered = copy(content = content.map(_.copy(files = Nil)), bytes = Array.emptyByteArray)
}

private[zonemap] object Delivered {

  /** The record in these bytes, which must have that name. */
  def of(name: RecordName, bytes: Array[Byte]): Delivered = {
    val content = RecordCodec.decode(bytes).flatMap { record =>
      if (record.lane == name.lane && record.seq == name.seq && record.nonce == name.nonce) Right(record)
      else
        Left(
          RecordProblem(
            RecordProblem.Invalid,
            s"its name is not that of its content, lane '${record.lane}' seq ${record.seq} nonce ${record.nonce}"))
    }
    Delivered(name, content, bytes)
  }
}

/**
 * A record that the store does not read or does not delete for now. Nothing is known of its content, so it is neither
 * refused nor passed.
 *
 * @param name the record; its `seq` is -1 if the store does not even list the records of its lane
 */
private[zonemap] final case class StuckRecord(name: RecordName, why: String)

/**
 * The result of one poll.
 *
 * @param complete whether the limits left nothing out
 * @param unreadable the first record of each lane that the store failed to read. The poll leaves out the records behind it
 * @param undeleted settled records that the queue could not delete. The queue tries again, and delivers none of them
 */
private[zonemap] final case class Poll(
    records: Seq[Delivered],
    complete: Boolean,
    unreadable: Seq[StuckRecord] = Nil,
    undeleted: Seq[StuckRecord] = Nil)

/**
 * The records to deliver in one poll, at most; at least one record is delivered.
 *
 * @param deferred lanes that come last, unless they have a record below the given `seq`: a record of that `seq` could not
 *   be committed before
 * @param hasPassed whether the table proves that a record can no longer be committed. A record that was settled, cannot
 *   be removed, and has not passed any more is delivered again
 */
private[zonemap] final case class PollLimits(
    maxRecords: Int,
    maxBytes: Long,
    deferred: Map[String, Long] = Map.empty,
    hasPassed: RecordName => Boolean = _ => true)

/**
 * The queue of one table: durable when `append` returns, at least once, and in order for each lane.
 *
 * A producer appends the next record of a lane only after the append before it has returned. A queue may deliver a
 * record again after it was settled, and it may deliver a record twice. Implementations are thread-safe.
 */
private[zonemap] trait CommitQueue extends AutoCloseable {

  /** The UUID of this incarnation of the queue; a queue that is deleted and created again has another one. */
  def identity: String

  /** The kind and the place of the queue, for people. */
  def description: String

  /** A sentence that warns of a queue that may lose accepted records; `None` if it is as durable as it can be. */
  def warning: Option[String] = None

  /**
   * Makes this queue the one that the ingest root names. The files of the root may name an earlier incarnation, which
   * no longer exists; a person has decided to go on without it.
   */
  def adopt(): Unit

  /**
   * Appends a record. After a normal return it is durable.
   *
   * After an exception, the record may be in the queue or not; the producer appends the same lane and `seq` again,
   * under a new nonce.
   */
  def append(record: IngestRecord): Receipt

  /**
   * Pending records. Of each lane that is returned, the records are in order of `seq`, and no record is left out
   * because of the limits before one that is returned. A record whose append returned before the poll began is
   * delivered unless the limits or a settlement exclude it; a record that is appended meanwhile may be missing.
   */
  def poll(limits: PollLimits): Poll

  /**
   * Reads pending records now, so that a later [[poll]] need not. Nothing depends on it.
   *
   * @return the records that the poll would deliver now; `None` if the queue does not keep what it reads
   */
  def readAhead(limits: PollLimits): Option[Int] = None

  /** The names of all pending records, without reading the records; otherwise as [[poll]]. */
  def names(): Seq[RecordName]

  /** The names of the pending records of one lane; otherwise as [[names]]. */
  def namesOf(lane: String): Seq[RecordName] = names().filter(_.lane == lane)

  /**
   * The pending records of one lane in order of `seq`; otherwise as [[poll]] without limits. Each is read when the list
   * comes to it: the records of a lane that nobody commits may be longer than memory.
   */
  def pendingOf(lane: String): LazyList[Delivered]

  /**
   * Removes records from the queue. A record that is already removed is ignored. A record that cannot be removed is
   * named by the next poll, and the queue tries to remove it again.
   */
  def settle(records: Seq[RecordName]): Unit

  /**
   * The locations of the data files of all pending records: a superset of the files that are accepted and not
   * committed.
   *
   * @throws zonemap.ingest.record.UnreadableRecordException if a record cannot be read, because its files are unknown
   */
  def pendingFiles(): Iterator[String]

  def stats(): QueueStats

  /** The pending records of each lane that has any: the same as in [[stats]], where that is cheaper. */
  def countByLane(): Map[String, Long] = stats().byLane
}
