package zonemap.ingest.commit

import scala.collection.mutable

import zonemap.ingest.queue.{Delivered, RecordName}
import zonemap.ingest.record.IngestRecord
import zonemap.ingest.table.{BranchStates, CheckedRecord, Refusal, RefusalCode, RefusedRecord, TableView, Watermark}

/** The decisions of one pass on all delivered records. Immutable. */
private[ingest] final case class BatchPlan(lanes: Map[String, LaneDecision]) {
  val accepted: Seq[CheckedRecord] = lanes.values.flatMap(_.accepted).toSeq
  val refused: Seq[Refused] = lanes.values.flatMap(_.refused).toSeq

  /** The refused records that the next commit quarantines. */
  val quarantined: Seq[Refused] = refused.filter(_.effect != RefusalEffect.Block)
  val held: Seq[HeldRecord] = lanes.values.flatMap(_.held).toSeq
  val otherBranches: Set[String] = lanes.values.flatMap(_.otherBranch).toSet
  val isUnconfirmed: Boolean = lanes.values.exists(_.unconfirmed.nonEmpty)

  /** The lanes whose watermark or holes change, with the new ones. */
  def advanced(states: BranchStates, nowMillis: Long): Map[String, Watermark] = lanes.collect {
    case (lane, decision)
        if decision.watermark > states.watermark(lane) || decision.closed.nonEmpty || decision.opened.nonEmpty =>
      lane -> Watermark(decision.watermark, nowMillis, states.holes(lane) -- decision.closed ++ decision.opened)
  }

  /** Whether a commit is due: for data, or for refused records that have waited long enough. */
  def isDue(settings: IngestSettings, nowMillis: Long): Boolean =
    accepted.nonEmpty ||
      quarantined.exists(r => nowMillis - r.delivered.name.appendedAtMillis >= settings.quarantineMillis)
}

/**
 * Decides which of the delivered records form the batch of one commit. One object serves one pass.
 *
 * @param queueId the identity of the queue, which each record must name
 * @param lengths the lengths of data files; missing files are missing in the result
 * @param discarded the records that a person has discarded
 */
private[ingest] class BatchPlanner(
    view: TableView,
    states: BranchStates,
    settings: IngestSettings,
    queueId: String,
    nowMillis: Long,
    lengths: Seq[String] => Map[String, Long],
    discarded: => Set[RecordName]) {
  private lazy val marked = discarded.map(name => (name.lane, name.seq, name.nonce))
  private val paths = mutable.HashSet.empty[String]
  private var records = 0
  private var files = 0
  private var bytes = 0L

  /** @param earlier the records that a poll before this one delivered */
  def plan(delivered: Seq[Delivered], earlier: Set[RecordName]): BatchPlan = {
    val fitting = delivered.collect {
      case Delivered(_, Right(record), _) if !states.isSettled(record.lane, record.seq) => keyOf(record) -> fit(record)
    }.toMap
    val old = fitting.values.collect { case Right(record) if isOld(record.record) => record }
    val known = lengths(old.flatMap(_.files).map(_.location()).toSeq.distinct)
    val walk = laneWalk(record => fitting(keyOf(record)).flatMap(admit(_, known)), earlier)
    BatchPlan(delivered.groupBy(_.name.lane).map { case (lane, all) =>
      lane -> walk.walk(states.watermark(lane), states.holes(lane), all)
    })
  }

  private def keyOf(record: IngestRecord) = (record.lane, record.seq, record.nonce)

  protected def laneWalk(
      check: IngestRecord => Either[Refusal, CheckedRecord],
      confirmed: RecordName => Boolean): LaneWalk =
    new LaneWalk(states.branch, branchOf, check, confirmed, blocks, () => isFull)

  /** The committer of `main` handles the records of branches that do not exist. */
  private def branchOf(record: IngestRecord): String =
    if (view.hasBranch(record.branch)) record.branch else IngestRecord.MainBranch

  private def blocks(refused: RefusedRecord): Boolean =
    settings.blockLane && !isDiscarded(refused.lane, refused.seq, refused.nonce)

  private def isDiscarded(lane: String, seq: Long, nonce: String): Boolean = marked((lane, seq, nonce))

  protected def isFull: Boolean =
    records >= settings.maxRecordsPerCommit || files >= settings.maxFilesPerCommit || bytes >= settings.maxBytesPerCommit

  /** The record with its data files, if it belongs to this table as it is now. */
  private def fit(record: IngestRecord): Either[Refusal, CheckedRecord] =
    if (settings.blockLane && isDiscarded(record.lane, record.seq, record.nonce))
      Left(Refusal(RefusalCode.Discarded, "a person discarded it"))
    else if (record.tableUuid != view.tableUuid)
      Left(
        Refusal(
          RefusalCode.OtherTable,
          s"it is for the table with the UUID ${record.tableUuid}, and this one has ${view.tableUuid}"))
    else if (record.queueId != queueId)
      Left(Refusal(RefusalCode.OtherQueue, s"it is for the queue ${record.queueId}, and this one is $queueId"))
    else if (!view.hasBranch(record.branch))
      Left(Refusal(RefusalCode.UnknownBranch, s"the table has no branch '${record.branch}'"))
    else refusalOf(record).toLeft(()).flatMap(_ => view.check(record))

  /** A reason to refuse a record that the pass knows besides. */
  protected def refusalOf(record: IngestRecord): Option[Refusal] = None

  private def isOld(record: IngestRecord): Boolean =
    math.abs(nowMillis - record.createdAtMillis) >= settings.checkFilesAfterMillis

  /** Adds the record to the batch, unless one of its files is missing, has another length or is in the batch. */
  private def admit(checked: CheckedRecord, known: Map[String, Long]): Either[Refusal, CheckedRecord] = {
    val own = checked.files.map(_.location())
    val problem =
      wrongLength(checked, known).orElse((own.find(paths) ++ own.diff(own.distinct)).headOption.map { path =>
        Refusal(RefusalCode.PathTwice, s"another entry of the same commit names its data file '$path'")
      })
    problem.toLeft {
      paths ++= own
      records += 1
      files += own.size
      bytes += checked.record.files.map(_.contentFile.length.toLong).sum
      checked
    }
  }

  private def wrongLength(checked: CheckedRecord, known: Map[String, Long]): Option[Refusal] =
    if (!isOld(checked.record)) None
    else
      checked.files.flatMap { file =>
        known.get(file.location()) match {
          case None => Some(Refusal(RefusalCode.MissingFile, s"its data file '${file.location()}' does not exist"))
          case Some(length) if length != file.fileSizeInBytes() =>
            Some(Refusal(
              RefusalCode.WrongLength,
              s"its data file '${file.location()}' has $length bytes, and the record gives ${file.fileSizeInBytes()}"))
          case _ => None
        }
      }.headOption
}
