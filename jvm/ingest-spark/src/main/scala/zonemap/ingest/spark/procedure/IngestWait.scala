// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.procedure

import zonemap.ingest.admin.IngestAdmin
import zonemap.ingest.queue.Receipt
import zonemap.ingest.record.IngestRecord
import zonemap.ingest.table.IngestTarget

/** Waits until appends are visible in a table. */
private[procedure] final class IngestWait(target: IngestTarget, admin: IngestAdmin) {

  /** One append, or all appends that are in the queue when the call begins; at most `timeoutMillis` for all of them. */
  def run(append: Option[Receipt], timeoutMillis: Long): Seq[WaitedAppend] = {
    val deadline = System.nanoTime() + timeoutMillis * 1000000
    append.fold(pending)(Seq(_)).map { receipt =>
      val left = math.max(0L, (deadline - System.nanoTime()) / 1000000)
      WaitedAppend(receipt.lane, receipt.seq, admin.await(receipt.copy(tableUuid = target.table.uuid().toString), left))
    }
  }

  /** Named only: the records of a queue may be longer than memory. The lanes of all branches are looked up the same way. */
  private def pending: Seq[Receipt] =
    target.queue.names().sortBy(name => (name.appendedAtMillis, name.lane, name.seq)).map { name =>
      Receipt("", IngestRecord.MainBranch, name.lane, name.seq, name.nonce, "")
    }
}

private[procedure] object IngestWait {

  /** The append that a call names; `None` for all. */
  def append(lane: Option[String], seq: Option[Long], branch: String): Option[Receipt] =
    (lane, seq) match {
      case (None, None)               => None
      case (Some(lane), Some(number)) => Some(Receipt("", branch, lane, number, "", ""))
      case (Some(lane), None) =>
        throw new IllegalArgumentException(
          s"Cannot wait for an append of lane '$lane': argument 'seq' is missing. Give the number of the append, or " +
            "leave out 'lane' to wait for all appends.")
      case (None, Some(number)) =>
        throw new IllegalArgumentException(
          s"Cannot wait for append $number: argument 'lane' is missing. Give the name of the lane, or leave out 'seq' " +
            "to wait for all appends.")
    }
}
