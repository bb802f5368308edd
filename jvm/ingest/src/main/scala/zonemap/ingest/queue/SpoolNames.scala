// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.queue

import zonemap.ingest.record.{Digits, LaneName, Nonce}

/** The paths of an ingest root, relative to it. */
private[zonemap] object SpoolNames {
  val QueueId = "queue-id.json"
  val Pending = "pending"
  val Quarantine = "quarantine"
  val State = "state"

  /** The records that are too long for a message of a queue that has messages. */
  val Spilled = "spilled"

  /** The locks of Python's writers; a local spool alone has them. */
  val Locks = "locks"
  val Paused = "paused.json"
  val Status = "status.json"

  private val Suffix = ".rec"
  private val LockOfNewLane = s"$Locks/python-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\.lock".r

  /** Whether a path is the lock of a lane that its writer has drawn, so that no other writer will use it. */
  def isLockOfNewLane(path: String): Boolean = LockOfNewLane.matches(path)

  /** The path of a record below `folder`, which is [[Pending]] or [[Quarantine]]. */
  def record(folder: String, lane: String, seq: Long, nonce: String): String =
    s"$folder/${LaneName.encode(lane)}/${Digits.of(seq)}-$nonce.rec"

  /** The lane of a folder directly below `folder`; `None` for another path. */
  def laneOf(folder: String, path: String): Option[String] =
    Option(path.stripPrefix(folder + "/")).filter(_ != path).filterNot(_.contains('/')).flatMap(LaneName.decode)

  /** The record that a path below `folder` names; `None` for the name of another file. */
  def parse(folder: String, path: String, modifiedAtMillis: Long): Option[RecordName] = {
    val lane = path.indexOf('/') + 1
    val file = path.lastIndexOf('/') + 1
    val isBelow = lane == folder.length + 1 && path.startsWith(folder) && path.indexOf('/', lane) == file - 1
    if (!isBelow || !isRecordFile(path, file)) None
    else
      for {
        name <- LaneName.decode(path.substring(lane, file - 1))
        number <- path.substring(file, file + Digits.Width).toLongOption
      } yield RecordName(
        name,
        number,
        path.substring(file + Digits.Width + 1, path.length - Suffix.length),
        modifiedAtMillis)
  }

  /** Whether a file of that name is a record. */
  def isRecord(name: String): Boolean = isRecordFile(name, 0)

  /** Whether the name that begins there is 20 digits, `-`, a nonce and `.rec`. */
  private def isRecordFile(path: String, from: Int): Boolean = {
    val nonce = from + Digits.Width + 1
    path.length == nonce + Nonce.Length + Suffix.length && path.endsWith(Suffix) && path.charAt(nonce - 1) == '-' &&
    (from until nonce - 1).forall(i => Digits.isDigit(path.charAt(i))) &&
    (nonce until nonce + Nonce.Length).forall(i => Nonce.isDigit(path.charAt(i)))
  }
}
