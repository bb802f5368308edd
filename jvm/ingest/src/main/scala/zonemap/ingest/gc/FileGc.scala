package zonemap.ingest.gc

import zonemap.ingest.store.StoredIngestFile

/**
 * The order of work that makes the deletion of data files safe. The names G1 to G4 are those of docs/design/INGEST.md.
 *
 * A record that a committer takes out of the queue is in the table before it leaves the queue. Files of the queue are
 * therefore read first and files of the table second; in the other order, a record that is committed between both reads
 * would be in neither.
 *
 * @param queued the locations of the data files of all pending and quarantined records
 * @param reachable the locations of the files of all snapshots of the table
 * @param candidates the files of the data folder, with locations instead of relative paths
 */
private[ingest] class FileGc(
    queued: () => Set[String],
    reachable: () => Set[String],
    candidates: () => Seq[StoredIngestFile]) {

  /** The files older than `minAgeMillis` that are in neither set. */
  def garbage(minAgeMillis: Long, nowMillis: Long): Seq[StoredIngestFile] = {
    val (inQueue, inTable) = read()
    val retained = (inQueue ++ inTable).map(FileGc.withoutScheme)
    candidates().filter { file =>
      nowMillis - file.modifiedAtMillis > minAgeMillis && !retained(FileGc.withoutScheme(file.path))
    }
  }

  /** G1, then G2. */
  protected def read(): (Set[String], Set[String]) = {
    val inQueue = stable(queued(), 0)
    (inQueue, reachable())
  }

  /**
   * Reads the queue until a reading adds no file, because a record can move between the queue and the quarantine while
   * both are read.
   */
  private def stable(found: Set[String], rounds: Int): Set[String] = {
    val again = found ++ queued()
    if (again.size == found.size) found
    else if (rounds < FileGc.MaxRounds) stable(again, rounds + 1)
    else
      throw new IllegalStateException(
        "Cannot read the files of the queue: records move faster than they can be read. Run gc again at a quieter time.")
  }
}

private[ingest] object FileGc {
  private val MaxRounds = 20
  private val Scheme = "^[a-zA-Z][a-zA-Z0-9+.-]*:(//[^/]*)?/*".r

  /** The path of a location: two locations of one file may differ in scheme and authority. */
  def withoutScheme(location: String): String = "/" + Scheme.replaceFirstIn(location, "").replaceFirst("^/+", "")
}
