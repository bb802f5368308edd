package zonemap.ingest.commit

import zonemap.ingest.queue.Poll
import zonemap.ingest.record.{IngestRecord, LaneName}
import zonemap.ingest.table.{BranchStates, Watermark}

/**
 * The lanes that the next state of a branch lists, and up to which number all other drawn lanes are retired.
 *
 * @param upTo `-1` if no lane was ever retired
 */
private[commit] final case class Retirement(lanes: Map[String, Watermark], upTo: Long)

/** Decides which drawn lanes a commit forgets. Clocks decide when; that no record is committed twice needs none. */
private[commit] object Retirement {

  /**
   * A lane is idle if its last record was committed before `idleSince` and the poll names no record of it. Its name was
   * drawn from the number of a pointer that a commit at that time has replaced, so no name is drawn from this number,
   * or from a smaller one, since then. All idle lanes up to the greatest such number are retired, but the number stays
   * below that of each lane of a pending record that the state does not list: its record would be refused.
   *
   * @param lanes those of the branch, with the records of the commit
   * @param isOwn whether the committer of the branch handles a record
   */
  def of(
      states: BranchStates,
      lanes: Map[String, Watermark],
      poll: Poll,
      isOwn: IngestRecord => Boolean,
      idleSince: Long): Retirement = {
    val before = states.own.fold(IngestRecord.NoSeq)(_.retired)
    val current = states.own.fold(IngestRecord.NoSeq)(_.pointer.no)
    if (!poll.complete) Retirement(lanes, before)
    else {
      val stuck = (poll.unreadable ++ poll.undeleted).map(_.name.lane)
      val polled = poll.records.map(_.name.lane).toSet ++ stuck
      val idle = for {
        (lane, watermark) <- lanes
        no <- LaneName.drawnAt(lane)
        if no < current && watermark.atMillis <= idleSince && !polled(lane)
      } yield lane -> no
      val waiting = poll.records.filter(_.content.forall(isOwn)).map(_.name.lane) ++ stuck
      val least = waiting.filterNot(lanes.contains).flatMap(LaneName.drawnAt).filter(_ > before).minOption
      val upTo = idle.values.filter(no => least.forall(no < _)).maxOption.fold(before)(math.max(before, _))
      Retirement(lanes -- idle.collect { case (lane, no) if no <= upTo => lane }, upTo)
    }
  }
}
