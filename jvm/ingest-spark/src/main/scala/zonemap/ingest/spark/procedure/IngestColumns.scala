// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.procedure

import org.apache.spark.sql.types._

import zonemap.ingest.admin.{IngestStatus, QuarantinedRecord, Visibility}
import zonemap.ingest.commit.{PassOutcome, PassResult}
import zonemap.ingest.loop.LoopStatus
import zonemap.ingest.queue.Receipt
import zonemap.spark.procedure.ResultColumn

/** The ingestion of a table, as its status row shows it. */
private[procedure] final case class IngestState(status: IngestStatus, loop: Option[LoopStatus], nowMillis: Long)

/** An append and its state after a wait. */
private[procedure] final case class WaitedAppend(lane: String, seq: Long, visibility: Visibility)

/** The columns of the procedures of append ingestion, in order. */
private[procedure] object IngestColumns {

  val commit: Seq[ResultColumn[PassResult]] = Seq(
    ResultColumn("branch", StringType, "The branch.", _.branch),
    ResultColumn(
      "outcome",
      StringType,
      "'committed', 'idle' (nothing to commit), 'paused', 'fenced' (another committer was first), 'unresolved' (the " +
        "catalog did not answer in time) or 'stopped' (a person must decide).",
      result => outcomeOf(result.outcome)
    ),
    ResultColumn(
      "snapshot_id",
      LongType,
      "The snapshot of the commit; -1 without one.",
      result => ofCommit(result, -1L)(_.snapshotId)),
    ResultColumn("records", LongType, "Appends committed.", result => ofCommit(result, 0L)(_.records.toLong)),
    ResultColumn("files", LongType, "Data files committed.", result => ofCommit(result, 0L)(_.files.toLong)),
    ResultColumn("rows", LongType, "Rows committed.", result => ofCommit(result, 0L)(_.rows)),
    ResultColumn("refused", LongType, "Appends that go to quarantine.", _.refused.size.toLong),
    ResultColumn("held", LongType, "Appends that wait for an earlier append of the same lane.", _.held.size.toLong),
    ResultColumn("pending", LongType, "Appends that are left in the queue.", _.pending.toLong),
    ResultColumn(
      "message",
      StringType,
      "The reason of the outcome; without one, that of the first append that is refused or held; or empty.",
      messageOf)
  )

  val status: Seq[ResultColumn[IngestState]] = Seq(
    ResultColumn("pending_records", LongType, "Appends that are accepted and not committed.", _.status.pendingRecords),
    ResultColumn("pending_bytes", LongType, "Size of these appends.", _.status.pendingBytes),
    ResultColumn(
      "oldest_pending_seconds",
      LongType,
      "Age of the oldest of them; -1 if there is none.",
      _.status.oldestPendingMillis.fold(-1L)(_ / 1000)),
    ResultColumn("quarantined", LongType, "Appends that cannot be committed.", _.status.quarantined),
    ResultColumn("lanes", LongType, "Producers whose appends were committed.", _.status.lanes),
    ResultColumn("committed_records", LongType, "Appends committed since the first commit.", _.status.committedRecords),
    ResultColumn("committed_files", LongType, "Data files of these appends.", _.status.committedFiles),
    ResultColumn("committed_rows", LongType, "Rows of these appends.", _.status.committedRows),
    ResultColumn("paused", StringType, "Reason of the pause; empty if there is none.", _.status.paused.getOrElse("")),
    ResultColumn(
      "last_pass_seconds",
      LongType,
      "Age of the last look of a committer at the queue; -1 if there was none.",
      state => state.status.lastPass.fold(-1L)(pass => (state.nowMillis - pass.atMillis) / 1000)
    ),
    ResultColumn("last_pass_outcome", StringType, "Result of that look.", _.status.lastPass.fold("")(_.outcome)),
    ResultColumn(
      "last_pass_committer",
      StringType,
      "Process of that committer.",
      _.status.lastPass.fold("")(_.committer)),
    ResultColumn(
      "loop",
      StringType,
      "The committer of this driver: 'running', 'failing: <why>', 'ended: <why>', or empty.",
      _.loop.fold("")(_.text)),
    ResultColumn("root", StringType, "Folder of the queue.", _.status.root),
    ResultColumn("queue", StringType, "'spool', or 'kafka' with the topic and the brokers.", _.status.queue),
    ResultColumn("queue_id", StringType, "Incarnation of the queue.", _.status.queueId),
    ResultColumn("pointer", StringType, "The committed state.", _.status.pointer.getOrElse("")),
    ResultColumn(
      "problem",
      StringType,
      "Why appends are not committed, or an alarm; empty if all is well.",
      _.status.problem),
    ResultColumn(
      "warning",
      StringType,
      "Why only one process may write to the table, or why its Kafka topic may lose appends; or empty.",
      _.status.warning)
  )

  val waited: Seq[ResultColumn[WaitedAppend]] = Seq(
    ResultColumn("lane", StringType, "The lane of the append.", _.lane),
    ResultColumn("seq", LongType, "Its number in the lane.", _.seq),
    ResultColumn(
      "state",
      StringType,
      "'visible', 'quarantined', 'rolled-back' (the branch no longer has the snapshot of the append), 'pending' " +
        "(the time was over) or 'unknown' (neither the queue nor the table has the append).",
      append => stateOf(append.visibility)
    ),
    ResultColumn(
      "message",
      StringType,
      "The reason of a quarantine; otherwise empty.",
      _.visibility match {
        case Visibility.Quarantined(code, message) => s"$code: $message"
        case _                                     => ""
      }
    )
  )

  val quarantined: Seq[ResultColumn[QuarantinedRecord]] = Seq(
    ResultColumn("lane", StringType, "The lane of the append.", _.lane),
    ResultColumn("seq", LongType, "Its number in the lane.", _.seq),
    ResultColumn("code", StringType, "The code of the reason.", _.code),
    ResultColumn("message", StringType, "The reason.", _.message),
    ResultColumn("at_ms", LongType, "When the append was refused, in milliseconds since 1970.", _.atMillis),
    ResultColumn("rows", LongType, "Number of its rows; -1 if the append cannot be read.", _.rows.getOrElse(-1L)),
    ResultColumn(
      "files",
      LongType,
      "Number of its data files; -1 if the append cannot be read.",
      _.files.fold(-1L)(_.toLong))
  )

  val receipt: Seq[ResultColumn[Receipt]] = Seq(
    ResultColumn("lane", StringType, "The new lane.", _.lane),
    ResultColumn("seq", LongType, "The number in it.", _.seq),
    ResultColumn("branch", StringType, "The branch that the append is for.", _.branch)
  )

  private def ofCommit(result: PassResult, otherwise: Long)(value: PassOutcome.Committed => Long): Long =
    result.outcome match {
      case committed: PassOutcome.Committed => value(committed)
      case _                                => otherwise
    }

  private def outcomeOf(outcome: PassOutcome): String =
    outcome match {
      case PassOutcome.Idle          => "idle"
      case _: PassOutcome.Paused     => "paused"
      case _: PassOutcome.Committed  => "committed"
      case PassOutcome.Fenced        => "fenced"
      case _: PassOutcome.Unresolved => "unresolved"
      case _: PassOutcome.Stopped    => "stopped"
    }

  /** The reason of the outcome; without one, the reason of the first append that is refused or held. */
  private def messageOf(result: PassResult): String =
    result.outcome match {
      case PassOutcome.Paused(reason)         => reason
      case PassOutcome.Unresolved(why)        => why
      case PassOutcome.Stopped(code, message) => s"$code: $message"
      case _ =>
        result.refused.headOption
          .map(r => s"append ${r.seq} of lane '${r.lane}' is refused, ${r.code}: ${r.message}")
          .orElse(result.held.headOption.map(_.text))
          .getOrElse("")
    }

  private def stateOf(visibility: Visibility): String =
    visibility match {
      case Visibility.Visible        => "visible"
      case _: Visibility.Quarantined => "quarantined"
      case Visibility.RolledBack     => "rolled-back"
      case Visibility.Pending        => "pending"
      case Visibility.Unknown        => "unknown"
    }
}
