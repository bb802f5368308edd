// SPDX-License-Identifier: Apache-2.0
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
 * @param folder the location of the data folder; without it, the listing is not compared with the table
 */
private[ingest] class FileGc(
    queued: () => Set[String],
    reachable: () => Set[String],
    candidates: () => Seq[StoredIngestFile],
    folder: Option[String] = None) {

  /** The files older than `minAgeMillis` that are in neither set. */
  def garbage(minAgeMillis: Long, nowMillis: Long): Seq[StoredIngestFile] = {
    val (inQueue, inTable) = read()
    val retained = (inQueue ++ inTable).map(FileGc.withoutScheme)
    val listed = candidates().map(file => FileGc.withoutScheme(file.path) -> file)
    folder.foreach(checkListing(_, inTable.map(FileGc.withoutScheme), listed.iterator.map(_._1).toSet))
    listed.collect {
      case (path, file) if nowMillis - file.modifiedAtMillis > minAgeMillis && !retained(path) => file
    }
  }

  /** A listing that lacks a file of the table may write locations in another form, so that no file would match. */
  private def checkListing(folder: String, inTable: Set[String], listed: Set[String]): Unit = {
    val below = FileGc.withoutScheme(folder) + "/"
    val missing = inTable.filter(path => path.startsWith(below) && !listed(path))
    if (missing.nonEmpty)
      throw new IllegalStateException(
        s"Cannot collect garbage of '$folder': the listing of the folder lacks ${missing.size} of the files that " +
          s"snapshots refer to, among them '${missing.min}'. Nothing was deleted. Find out whether files of the table " +
          "are missing; if a snapshot expired meanwhile, run ingest_collect_garbage again.")
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
        "Cannot read the files of the queue: records move faster than they can be read. Run ingest_collect_garbage again at a quieter time.")
  }
}

private[ingest] object FileGc {
  private val MaxRounds = 20
  private val Scheme = "^[a-zA-Z][a-zA-Z0-9+.-]*:(//[^/]*)?/*".r

  /**
   * The path of a location: two locations of one file may differ in scheme and authority, and a listing may write
   * `a//b` and `a/x/../b` as `a/b`.
   */
  def withoutScheme(location: String): String =
    Scheme
      .replaceFirstIn(location, "")
      .split('/')
      .foldLeft(List.empty[String]) {
        case (parents, "" | ".") => parents
        case (parents, "..")     => parents.drop(1)
        case (parents, name)     => name :: parents
      }
      .reverse
      .mkString("/", "/", "")
}
