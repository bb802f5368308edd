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
    ResultColumn("branch", StringType, _.branch),
    ResultColumn("outcome", StringType, result => outcomeOf(result.outcome)),
    ResultColumn("snapshot_id", LongType, result => ofCommit(result, -1L)(_.snapshotId)),
    ResultColumn("records", LongType, result => ofCommit(result, 0L)(_.records.toLong)),
    ResultColumn("files", LongType, result => ofCommit(result, 0L)(_.files.toLong)),
    ResultColumn("rows", LongType, result => ofCommit(result, 0L)(_.rows)),
    ResultColumn("refused", LongType, _.refused.size.toLong),
    ResultColumn("held", LongType, _.held.size.toLong),
    ResultColumn("pending", LongType, _.pending.toLong),
    ResultColumn("message", StringType, messageOf)
  )

  val status: Seq[ResultColumn[IngestState]] = Seq(
    ResultColumn("pending_records", LongType, _.status.pendingRecords),
    ResultColumn("pending_bytes", LongType, _.status.pendingBytes),
    ResultColumn("oldest_pending_seconds", LongType, _.status.oldestPendingMillis.fold(-1L)(_ / 1000)),
    ResultColumn("quarantined", LongType, _.status.quarantined),
    ResultColumn("lanes", LongType, _.status.lanes),
    ResultColumn("committed_records", LongType, _.status.committedRecords),
    ResultColumn("committed_files", LongType, _.status.committedFiles),
    ResultColumn("committed_rows", LongType, _.status.committedRows),
    ResultColumn("paused", StringType, _.status.paused.getOrElse("")),
    ResultColumn(
      "last_pass_seconds",
      LongType,
      state => state.status.lastPass.fold(-1L)(pass => (state.nowMillis - pass.atMillis) / 1000)),
    ResultColumn("last_pass_outcome", StringType, _.status.lastPass.fold("")(_.outcome)),
    ResultColumn("last_pass_committer", StringType, _.status.lastPass.fold("")(_.committer)),
    ResultColumn("loop", StringType, _.loop.fold("")(_.text)),
    ResultColumn("root", StringType, _.status.root),
    ResultColumn("queue", StringType, _.status.queue),
    ResultColumn("queue_id", StringType, _.status.queueId),
    ResultColumn("pointer", StringType, _.status.pointer.getOrElse("")),
    ResultColumn("problem", StringType, _.status.problem),
    ResultColumn("warning", StringType, _.status.warning)
  )

  val waited: Seq[ResultColumn[WaitedAppend]] = Seq(
    ResultColumn("lane", StringType, _.lane),
    ResultColumn("seq", LongType, _.seq),
    ResultColumn("state", StringType, append => stateOf(append.visibility)),
    ResultColumn(
      "message",
      StringType,
      _.visibility match {
        case Visibility.Quarantined(code, message) => s"$code: $message"
        case _                                     => ""
      })
  )

  val quarantined: Seq[ResultColumn[QuarantinedRecord]] = Seq(
    ResultColumn("lane", StringType, _.lane),
    ResultColumn("seq", LongType, _.seq),
    ResultColumn("code", StringType, _.code),
    ResultColumn("message", StringType, _.message),
    ResultColumn("at_ms", LongType, _.atMillis),
    ResultColumn("rows", LongType, _.rows.getOrElse(-1L)),
    ResultColumn("files", LongType, _.files.fold(-1L)(_.toLong))
  )

  val receipt: Seq[ResultColumn[Receipt]] = Seq(
    ResultColumn("lane", StringType, _.lane),
    ResultColumn("seq", LongType, _.seq),
    ResultColumn("branch", StringType, _.branch)
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
