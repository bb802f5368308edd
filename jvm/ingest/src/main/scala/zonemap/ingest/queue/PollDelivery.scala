// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.queue

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

/**
 * Reads the records of one poll in order, several at a time. A lane ends at its first record that the store fails to
 * read. One object serves one poll.
 *
 * @param read the listed records, each with its result; `None` if a record has left the queue
 */
private[zonemap] final class PollDelivery(
    limits: PollLimits,
    read: Seq[ListedRecord] => Seq[Either[StuckRecord, Option[Delivered]]]) {
  import PollDelivery._

  private val records = ArrayBuffer.empty[Delivered]
  private val stuck = mutable.LinkedHashMap.empty[String, StuckRecord]
  private var bytes = 0L
  private var complete = true

  def delivered: Seq[Delivered] = records.toSeq
  def failed: Seq[StuckRecord] = stuck.values.toSeq

  /** Whether the limits left nothing out. */
  def isComplete: Boolean = complete

  def run(order: Seq[ListedRecord]): this.type = {
    val left = order.iterator
    while (left.hasNext && !isFull) {
      val chunk = take(left)
      read(chunk).zip(chunk).foreach {
        case (Right(found), listed) => found.filterNot(_ => stuck.contains(listed.name.lane)).foreach(add)
        case (Left(record), listed) => stuck.getOrElseUpdate(listed.name.lane, record): Unit
      }
    }
    complete = !left.hasNext
    this
  }

  private def add(found: Delivered): Unit = {
    records += found
    bytes += found.bytes.length
  }

  private def isFull: Boolean = records.size >= limits.maxRecords || bytes >= limits.maxBytes

  /** The next records that the limits allow, without those of lanes that have ended. */
  private def take(left: Iterator[ListedRecord]): Seq[ListedRecord] = {
    val chunk = ArrayBuffer.empty[ListedRecord]
    var planned = bytes
    while (left.hasNext && chunk.size < Chunk && records.size + chunk.size < limits.maxRecords && planned < limits.maxBytes) {
      val next = left.next()
      if (!stuck.contains(next.name.lane)) {
        chunk += next
        planned += next.sizeBytes
      }
    }
    chunk.toSeq
  }
}

private object PollDelivery {

  /** Records that are read at a time; their bytes are within the limits of the poll. */
  private val Chunk = 64
}
