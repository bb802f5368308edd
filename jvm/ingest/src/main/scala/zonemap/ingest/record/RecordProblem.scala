// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.record

/**
 * Why bytes are not a record that this release reads; the code is public and is never changed.
 *
 * @param isReport whether the queue reports something that no producer has appended, so that no repeat of its number
 *   follows
 */
private[zonemap] final case class RecordProblem(code: String, message: String, isReport: Boolean = false)

private[zonemap] object RecordProblem {
  val TooLong = "too-long"
  val Damaged = "damaged"
  val LaterFormat = "later-format"
  val Invalid = "invalid"

  /** The queue has deleted records that were not committed. */
  val Lost = "lost"

  /** All codes, for the documents and the tests. */
  val Codes: Seq[String] = Seq(TooLong, Damaged, LaterFormat, Invalid, Lost)
}

/** A record whose data files are unknown, because its bytes cannot be read. */
private[zonemap] final class UnreadableRecordException(message: String) extends RuntimeException(message)
