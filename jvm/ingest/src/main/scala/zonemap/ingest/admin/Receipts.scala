// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.admin

import java.time.Clock

import scala.util.Try

import zonemap.ingest.commit.Quarantine
import zonemap.ingest.queue.Receipt
import zonemap.ingest.record.RecordProblem
import zonemap.ingest.table._

/** Finds out where the record of a receipt is. */
private[admin] final class Receipts(target: IngestTarget, clock: Clock) {
  import Receipts._

  private val catalog = new IcebergIngestCatalog(target.name, target.operations)
  private val quarantine = new Quarantine(target.files)

  /**
   * Reads the quarantine after the state, which lists a refused record until it is in quarantine. The quarantine says
   * what became of a record that a person has taken out of it; that of one appended again is what its copy is.
   */
  def visibility(receipt: Receipt): Visibility = {
    val isPending = target.queue.namesOf(receipt.lane).exists(name => isOf(receipt, name.seq, name.nonce))
    val (view, states) = BranchStates.load(catalog, receipt.branch, target.files, target.queue.identity)
    val place = states.lane(receipt.lane).place(receipt.seq)
    def isReason(seq: Long, nonce: String, code: String) =
      isOf(receipt, seq, nonce) && (receipt.nonce.nonEmpty || place != LanePlace.Settled || !Beside(code))
    val listed = states.quarantined.find(q => q.lane == receipt.lane && isReason(q.seq, q.nonce, q.code))
    inQuarantine(receipt, isReason).orElse(listed.map(q => Visibility.Quarantined(q.code, q.message))).getOrElse {
      place match {
        case LanePlace.Settled => visible(receipt, view)
        case _ if isPending    => Visibility.Pending
        // The record was appended, and neither the queue nor the quarantine has it.
        case LanePlace.Forgotten(_) | LanePlace.PassedHole | LanePlace.Retired if receipt.nonce.nonEmpty =>
          visible(receipt, view)
        case _ => Visibility.Unknown
      }
    }
  }

  private def visible(receipt: Receipt, view: TableView) =
    if (isRolledBack(receipt, view)) Visibility.RolledBack else Visibility.Visible

  /**
   * Whether a snapshot that has left the history of the branch has settled the record: its state has, and the one before
   * it has not. A snapshot that is no longer retained shows nothing.
   */
  private def isRolledBack(receipt: Receipt, view: TableView): Boolean = {
    def settles(state: LaneState) =
      LaneView(state.lanes.get(receipt.lane), Nil).place(receipt.seq) == LanePlace.Settled
    view.abandoned(receipt.branch).flatMap(text => stateAt(text)).exists { state =>
      settles(state) && state.prevPointer.forall(text => stateAt(text).exists(!settles(_)))
    }
  }

  /** The state that a pointer names; `None` if it cannot be read. */
  private def stateAt(pointer: String): Option[LaneState] =
    Try(IngestPointer.parse(pointer).statePath).toOption
      .flatMap(target.files.read(_, StateFile.MaxBytes))
      .flatMap(StateFile.decode(_).toOption)

  private def inQuarantine(receipt: Receipt, isReason: (Long, String, String) => Boolean): Option[Visibility] =
    quarantine
      .reasons(receipt.lane, receipt.seq)
      .collectFirst { case (nonce, reason) if isReason(receipt.seq, nonce, reason.code) => reason }
      .map { reason =>
        reason.requeuedTo.fold[Visibility](Visibility.Quarantined(reason.code, reason.message)) { case (lane, nonce) =>
          visibility(receipt.copy(lane = lane, seq = 0, nonce = nonce))
        }
      }

  /** Waits until the record is visible or quarantined, or the time is over. */
  def await(receipt: Receipt, timeoutMillis: Long): Visibility = {
    val end = clock.millis() + timeoutMillis
    var found = visibility(receipt)
    while (isOpen(found) && clock.millis() < end) {
      Thread.sleep(math.max(1, math.min(PollMillis, end - clock.millis())))
      found = visibility(receipt)
    }
    found
  }

  private def isOpen(found: Visibility): Boolean = found == Visibility.Pending || found == Visibility.Unknown

  /** A receipt of a repeated append has no nonce; it stands for each record of its `seq`. */
  private def isOf(receipt: Receipt, seq: Long, nonce: String): Boolean =
    seq == receipt.seq && (receipt.nonce.isEmpty || receipt.nonce == nonce)
}

private object Receipts {
  private val PollMillis = 100L

  /** Codes of refused records beside which another record of the same number may be committed. */
  private val Beside = (RecordProblem.Codes :+ RefusalCode.Fork).toSet
}
