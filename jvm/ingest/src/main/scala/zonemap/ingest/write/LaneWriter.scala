// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.write

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.{DataFile, TableMetadata}
import org.slf4j.LoggerFactory

import zonemap.ingest.commit.IngestSettings
import zonemap.ingest.queue.Receipt
import zonemap.ingest.record.{IngestRecord, LaneName, Nonce, PartitionKeys, QueuedFile}
import zonemap.ingest.table.{IngestPointer, IngestTarget}

/**
 * The producer side of one lane. One process at a time writes to a lane; a second one can only repeat appends, which
 * are dropped, or fork the lane, which is quarantined.
 *
 * Thread-safe; appends of one lane run one after the other.
 */
private[zonemap] final class LaneWriter private (
    target: IngestTarget,
    settings: IngestSettings,
    val branch: String,
    val lane: String,
    writer: String,
    opened: LaneTail,
    age: Option[LaneAge]) {
  private var tail = opened
  private var latest = Option.empty[Receipt]
  private val pressure = new BackPressure(target.name, lane, target.queue, settings)

  /** The greatest `seq` of the lane that is durable: pending, committed or quarantined; `-1` if there is none. */
  def lastSeq: Long = synchronized(tail.last)

  /**
   * Appends data files that are already written at their final place. They become visible together, exactly once.
   *
   * Waits while the queue is at its soft limit. If `seq` is the last number of the lane, as after a replayed epoch,
   * nothing is appended, and the receipt names the earlier append; a number whose only record cannot be read is appended
   * again. After any other exception than those below, the record may be durable; the caller appends the same files with
   * the same `seq` again.
   *
   * @param startedAtMillis when the first of the files was begun. Files that were begun more than half of gc's least age
   *   ago are refused, because gc may have deleted them already
   * @param schemaId the schema with which the files were written; `None`: the current one of the table
   * @throws BackPressureException if the queue is at its hard limit; nothing was appended
   * @throws IllegalArgumentException if the lane has passed `seq`, there are no files, a file is too old, the table does
   *   not have the partition spec of a file, or the lane was drawn too long ago; nothing was appended
   */
  def append(seq: Long, files: Seq[DataFile], startedAtMillis: Long, schemaId: Option[Int] = None): Receipt =
    synchronized {
      val now = System.currentTimeMillis()
      require(seq >= 0, s"Cannot append record $seq to lane '$lane': a seq is at least 0. Count appends from 0.")
      val previous = tail.open.get(seq).orElse(Option.when(seq > tail.last)(tail.last))
      previous.fold(repeated(seq)) { prevSeq =>
        check(seq, files, now - startedAtMillis)
        pressure.await()
        if (age.exists(_.isOver)) throw new IllegalArgumentException(tooOld(seq))
        val accepted = retried(recordOf(seq, prevSeq, files, now, schemaId), LaneWriter.Pauses)
        pressure.added()
        tail = LaneTail(math.max(seq, tail.last), tail.open - seq)
        latest = Some(accepted)
        accepted
      }
    }

  /**
   * Appends the record, again under a new nonce if the queue fails: a failed append may have left a part of the record.
   * Two records of one number are harmless, because the committer takes the first one that it can read.
   */
  @tailrec
  private def retried(record: IngestRecord, pauses: Seq[Long]): Receipt =
    (try Right(target.queue.append(record))
    catch { case NonFatal(e) if pauses.nonEmpty && isRepeatable(e) => Left(e) }) match {
      case Right(receipt) => receipt
      case Left(error) =>
        LaneWriter.log.warn(
          s"Cannot append record ${record.seq} of lane '$lane' of '${target.name}': $error. The append is repeated in " +
            s"${pauses.head} ms.")
        Thread.sleep(pauses.head)
        retried(record.copy(nonce = Nonce.draw()), pauses.tail)
    }

  private def isRepeatable(error: Throwable): Boolean =
    !error.isInstanceOf[IllegalArgumentException] && !age.exists(_.isOver)

  private def tooOld(seq: Long): String =
    s"Cannot append record $seq to lane '$lane' of '${target.name}': the lane was drawn ${settings.laneMillis / 60000} " +
      "minutes ago, and the committer may retire it. Write again, so that another lane is drawn."

  /**
   * A producer repeats only its last append. An earlier number therefore comes from other data: of a run out of order,
   * or of a stream that was restored from an older checkpoint.
   */
  private def repeated(seq: Long): Receipt = {
    if (seq < tail.last)
      throw new IllegalArgumentException(
        s"Cannot append record $seq to lane '$lane' of '${target.name}': the lane has passed it, its last record is " +
          s"${tail.last}. Numbers must grow; a stream that starts again from an older checkpoint needs a new checkpoint.")
    LaneWriter.log.warn(
      s"Record $seq of lane '$lane' of '${target.name}' was appended before, so this append is dropped. A repeat of the " +
        "same rows loses nothing.")
    latest.filter(_.seq == seq).getOrElse(receipt(seq, "", s"${target.files.root}: appended before"))
  }

  private def receipt(seq: Long, nonce: String, location: String): Receipt =
    Receipt(target.table.uuid().toString, branch, lane, seq, nonce, location)

  private def check(seq: Long, files: Seq[DataFile], ageMillis: Long): Unit = {
    def refuse(why: String) =
      throw new IllegalArgumentException(s"Cannot append record $seq to lane '$lane' of '${target.name}': $why")
    if (files.isEmpty) refuse("it has no data files. Append records with data only.")
    if (ageMillis > settings.maxFileAgeMillis)
      refuse(
        s"its data files were begun ${ageMillis / 1000} s ago, and ingest_collect_garbage may have deleted files that are older than " +
          s"${settings.maxFileAgeMillis / 1000} s. Write the files again.")
    val specs = target.operations.current().specsById()
    files.find(file => !specs.containsKey(file.specId())).foreach { file =>
      refuse(s"the table has no partition spec ${file.specId()}, which '${file.location()}' has. Load the table again.")
    }
    files.iterator.flatMap(file => QueuedPartition.problem(file, specs.get(file.specId()))).nextOption().foreach(refuse)
  }

  private def recordOf(
      seq: Long,
      prevSeq: Long,
      files: Seq[DataFile],
      nowMillis: Long,
      schemaId: Option[Int]): IngestRecord = {
    val metadata = target.operations.current()
    IngestRecord(
      target.queue.identity,
      metadata.uuid(),
      branch,
      lane,
      seq,
      prevSeq,
      Nonce.draw(),
      writer,
      nowMillis,
      schemaId.getOrElse(metadata.currentSchemaId()),
      headOf(metadata),
      metadata.formatVersion(),
      files.map(_.recordCount()).sum,
      files.map(_.fileSizeInBytes()).sum,
      files.map(file => QueuedFile(file.specId(), PartitionKeys.json(file, metadata.spec(file.specId()))))
    )
  }

  private def headOf(metadata: TableMetadata): Long = Option(metadata.ref(branch)).fold(-1L)(_.snapshotId())
}

private[zonemap] object LaneWriter {
  private val log = LoggerFactory.getLogger("zonemap.ingest")

  /** Milliseconds before each repeat of an append that failed. */
  private val Pauses = Seq(200L, 1000L, 3000L)

  /**
   * Opens a lane: reads its last `seq` from the queue and from the state of the table.
   *
   * @param branch a branch that exists, or `main`
   * @param writer the host, process and application, for people
   * @throws IllegalArgumentException if the lane's name is too long or one that a producer draws, or the table has no
   *   such branch
   * @throws zonemap.ingest.table.IngestStoppedException if the state of the table is lost
   */
  def open(target: IngestTarget, settings: IngestSettings, branch: String, lane: String, writer: String): LaneWriter = {
    LaneName.encode(lane)
    if (LaneName.drawnAt(lane).isDefined)
      throw new IllegalArgumentException(
        s"Cannot open the lane '$lane' of '${target.name}': a producer draws a name of this form, uses it alone, and " +
          "the committer retires it. Give the lane another name.")
    opened(target, settings, branch, _ => lane, writer, None)
  }

  /**
   * Opens a lane with a new name, which no other producer uses, for [[IngestSettings.laneMillis]].
   *
   * @param clocks the time in milliseconds by each clock of this process
   * @throws IllegalArgumentException if the table has no such branch
   * @throws zonemap.ingest.table.IngestStoppedException as for [[open]]
   */
  def draw(
      target: IngestTarget,
      settings: IngestSettings,
      branch: String,
      writer: String,
      clocks: () => Seq[Long] = () => LaneAge.clocks): LaneWriter = {
    val age = new LaneAge(settings.laneMillis, clocks)
    opened(target, settings, branch, pointer => LaneName.draw(pointer.fold(0L)(_.no), branch), writer, Some(age))
  }

  /** @param name the name of the lane, by the pointer of the branch */
  private def opened(
      target: IngestTarget,
      settings: IngestSettings,
      branch: String,
      name: Option[IngestPointer] => String,
      writer: String,
      age: Option[LaneAge]): LaneWriter = {
    val metadata = target.operations.refresh()
    val refs = metadata.refs().asScala
    if (branch != IngestRecord.MainBranch && !refs.get(branch).exists(_.isBranch))
      throw new IllegalArgumentException(
        s"Cannot append to branch '$branch' of '${target.name}': the table has no such branch. Create the branch first.")
    val lane = name(IngestPointer.textOf(metadata, branch).map(IngestPointer.parse))
    new LaneWriter(target, settings, branch, lane, writer, LaneTail.read(target, branch, lane), age)
  }
}
