package zonemap.ingest.admin

import java.time.Clock

import scala.util.Try

import zonemap.ingest.commit.Quarantine
import zonemap.ingest.queue.Receipt
import zonemap.ingest.table._

/** Finds out where the record of a receipt is. */
private[admin] final class Receipts(target: IngestTarget, clock: Clock) {
  import Receipts._

  private val catalog = new IcebergIngestCatalog(target.name, target.operations)
  private val quarantine = new Quarantine(target.files)

  /**
   * Reads the quarantine before and after the state: a record that is listed as refused by the state is put into
   * quarantine by the next pass, if the one that listed it died.
   */
  def visibility(receipt: Receipt): Visibility = {
    val isPending = target.queue.namesOf(receipt.lane).exists(name => isOf(receipt, name.seq, name.nonce))
    val (view, states) = BranchStates.load(catalog, receipt.branch, target.files, target.queue.identity)
    val listed = states.quarantined.find(q => q.lane == receipt.lane && isOf(receipt, q.seq, q.nonce))
    listed.map(q => Visibility.Quarantined(q.code, q.message)).orElse(inQuarantine(receipt)).getOrElse {
      states.lane(receipt.lane).place(receipt.seq) match {
        case LanePlace.Settled => visible(receipt, view)
        case _ if isPending    => Visibility.Pending
        // The record was appended, and neither the queue nor the quarantine has it.
        case LanePlace.Forgotten(_) | LanePlace.Retired if receipt.nonce.nonEmpty => visible(receipt, view)
        case _                                                                    => Visibility.Unknown
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

  private def inQuarantine(receipt: Receipt): Option[Visibility] = quarantine
    .names()
    .find(name => name.lane == receipt.lane && isOf(receipt, name.seq, name.nonce))
    .map { name =>
      val reason = quarantine.reason(name)
      Visibility.Quarantined(reason.fold("unknown")(_.code), reason.fold("the reason is missing")(_.message))
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
}
