// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

import scala.annotation.tailrec
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import zonemap.ingest.record.{Digits, Nonce}
import zonemap.ingest.store.IngestFiles

/**
 * The files of marks in an ingest root. A file is immutable, and each states a fact that stays true, so any number of
 * committers may write marks. A committer deletes the files whose statement its own new mark contains.
 *
 * Not thread-safe.
 */
private[kafka] final class SettledMarks(files: IngestFiles, queueId: String) {
  import SettledMarks._

  /** The complete marks; `None` is one of another queue. */
  private var known = Map.empty[String, Option[SettledMark]]
  private var hasWarned = false

  /** The settled offsets of each partition that has a mark. */
  def read(): Map[Int, SettledOffsets] = {
    refresh(MaxAttempts)
    known.values.flatten.toSeq.groupBy(_.partition).map { case (partition, marks) =>
      partition -> SettledOffsets(marks)
    }
  }

  /** When the newest mark was written, by the clock of the store. */
  def newestMillis: Option[Long] = files.list(Folder).map(_.modifiedAtMillis).maxOption

  /**
   * A mark that vanishes while it is read was replaced by a newer one. A mark that is not complete is read again by the
   * next call: its writer may be at work.
   */
  @tailrec
  private def refresh(attempts: Int): Unit = {
    val paths = files.list(Folder).map(_.path).filter(Name.matches)
    val added = paths.filterNot(known.contains).map(path => path -> files.read(path, MaxBytes))
    val complete = for {
      (path, bytes) <- added
      mark <- bytes.flatMap(SettledMark.decode)
    } yield path -> Some(mark).filter(_.queueId == queueId)
    known = known.view.filterKeys(paths.toSet).toMap ++ complete
    if (added.exists(_._2.isEmpty)) {
      if (attempts == 0)
        throw new IllegalStateException(
          s"Cannot read the marks in '${files.root}/$Folder': they change faster than they can be read. Try again.")
      refresh(attempts - 1)
    }
  }

  /** Writes a mark durably, and then deletes the marks that it supersedes, as far as the store allows. */
  def write(mark: SettledMark): Unit = {
    val path = s"$Folder/${mark.partition}-${Digits.of(mark.upTo)}-${Nonce.draw()}.json"
    files.create(path, SettledMark.encode(mark)): Unit
    val old = known.collect { case (older, Some(other)) if mark.supersedes(other) => older }
    known = known -- old.filter(isDeleted) + (path -> Some(mark))
  }

  /** Deletes a mark. One that stays is true and only costs reading; the next mark deletes it. */
  private def isDeleted(path: String): Boolean =
    try {
      files.delete(path)
      true
    } catch {
      case NonFatal(e) =>
        if (!hasWarned)
          log.warn(
            s"Cannot delete the mark '${files.root}/$path': $e. Records are committed all the same. Grant the committer " +
              "the deletion of files there.")
        hasWarned = true
        false
    }
}

private[kafka] object SettledMarks {
  private val log = LoggerFactory.getLogger("zonemap.ingest")
  private val Folder = "settled"
  private val Name = s"$Folder/[0-9]{1,9}-[0-9]{20}-${Nonce.Pattern}\\.json".r
  private val MaxBytes = 1 << 20
  private val MaxAttempts = 10
}
