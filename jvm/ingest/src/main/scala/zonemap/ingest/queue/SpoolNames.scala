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
  val Paused = "paused.json"
  val Status = "status.json"

  private val RecordFile = s"([0-9]{20})-(${Nonce.Pattern})\\.rec".r

  /** The path of a record below `folder`, which is [[Pending]] or [[Quarantine]]. */
  def record(folder: String, lane: String, seq: Long, nonce: String): String =
    s"$folder/${LaneName.encode(lane)}/${Digits.of(seq)}-$nonce.rec"

  /** The lane of a folder directly below `folder`; `None` for another path. */
  def laneOf(folder: String, path: String): Option[String] =
    Option(path.stripPrefix(folder + "/")).filter(_ != path).filterNot(_.contains('/')).flatMap(LaneName.decode)

  /** The record that a path below `folder` names; `None` for the name of another file. */
  def parse(folder: String, path: String, modifiedAtMillis: Long): Option[RecordName] =
    path.stripPrefix(folder + "/").split('/') match {
      case Array(lane, RecordFile(seq, nonce)) =>
        for (name <- LaneName.decode(lane); number <- seq.toLongOption)
          yield RecordName(name, number, nonce, modifiedAtMillis)
      case _ => None
    }
}
