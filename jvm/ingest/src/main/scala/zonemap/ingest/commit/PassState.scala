// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import zonemap.ingest.queue.{Poll, RecordName}
import zonemap.ingest.table.{BranchStates, LaneState, TableView}

/** Where a pass over one branch stands, between two steps. Immutable. */
private[ingest] sealed trait PassState

private[ingest] object PassState {

  /** Nothing was read yet. */
  case object Begin extends PassState

  /** The metadata and the states were read. */
  final case class Loaded(view: TableView, states: BranchStates) extends PassState

  /**
   * The queue was polled.
   *
   * @param earlier the records that the poll before this one delivered
   */
  final case class Polled(view: TableView, states: BranchStates, poll: Poll, earlier: Set[RecordName]) extends PassState

  /** What the states have settled was removed from the queue. */
  final case class Settled(polled: Polled, unsettled: Set[RecordName]) extends PassState

  /** The batch is decided and due. */
  final case class Planned(polled: Polled, unsettled: Set[RecordName], plan: BatchPlan) extends PassState

  /**
   * The new state is in its file, and `attempts` commits were sent.
   *
   * @param failure why the last attempt did not return normally
   */
  final case class Sending(
      planned: Planned,
      next: LaneState,
      startedAtMillis: Long,
      attempts: Int,
      failure: Option[Throwable])
      extends PassState

  /** The commit landed. */
  final case class Landed(sending: Sending, snapshotId: Long) extends PassState

  /**
   * @param otherBranches branches with records that are next in their lanes
   * @param waiting the lanes whose next record cannot be committed for now, with its `seq`
   */
  final case class Done(
      result: PassResult,
      otherBranches: Set[String] = Set.empty,
      waiting: Map[String, Long] = Map.empty)
      extends PassState
}
