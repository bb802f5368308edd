package zonemap.ingest.kafka

import scala.annotation.tailrec

import zonemap.ingest.record.Nonce
import zonemap.ingest.store.IngestFiles

/**
 * The files of marks in an ingest root. A file is immutable, and each states a fact that stays true, so any number of
 * committers may write marks. A committer deletes the files whose statement its own new mark contains.
 *
 * Not thread-safe.
 */
private[kafka] final class SettledMarks(files: IngestFiles, queueId: String) {
  import SettledMarks._

  private var known = Map.empty[String, Option[SettledMark]]

  /** The settled offsets of each partition that has a mark. */
  def read(): Map[Int, SettledOffsets] = {
    refresh(MaxAttempts)
    known.values.flatten.toSeq.groupBy(_.partition).map { case (partition, marks) =>
      partition -> SettledOffsets(marks)
    }
  }

  /** When the newest mark was written, by the clock of the store. */
  def newestMillis: Option[Long] = files.list(Folder).map(_.modifiedAtMillis).maxOption

  /** A mark that vanishes while it is read was replaced by a newer one. */
  @tailrec
  private def refresh(attempts: Int): Unit = {
    val paths = files.list(Folder).map(_.path).filter(Name.matches)
    val added = paths.filterNot(known.contains).map(path => path -> files.read(path, MaxBytes))
    known = known.view.filterKeys(paths.toSet).toMap ++
      added.collect { case (path, Some(bytes)) => path -> SettledMark.decode(bytes).filter(_.queueId == queueId) }
    if (added.exists(_._2.isEmpty)) {
      if (attempts == 0)
        throw new IllegalStateException(
          s"Cannot read the marks in '${files.root}/$Folder': they change faster than they can be read. Try again.")
      refresh(attempts - 1)
    }
  }

  /** Writes a mark durably, and then deletes the marks that it supersedes. */
  def write(mark: SettledMark): Unit = {
    val path = f"$Folder/${mark.partition}%d-${mark.upTo}%020d-${Nonce.draw()}.json"
    files.create(path, SettledMark.encode(mark)): Unit
    val old = known.collect { case (older, Some(other)) if mark.supersedes(other) => older }
    old.foreach(files.delete)
    known = known -- old + (path -> Some(mark))
  }
}

private[kafka] object SettledMarks {
  private val Folder = "settled"
  private val Name = s"$Folder/[0-9]{1,9}-[0-9]{20}-${Nonce.Pattern}\\.json".r
  private val MaxBytes = 1 << 20
  private val MaxAttempts = 10
}
