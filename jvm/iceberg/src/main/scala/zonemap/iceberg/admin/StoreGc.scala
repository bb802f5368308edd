package zonemap.iceberg.admin

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Table
import org.slf4j.LoggerFactory

import zonemap.core.io.{CorruptIndexException, LaterFormatException, Recent}
import zonemap.core.version.StoreNames
import zonemap.iceberg.store.{IndexStore, StoredFile}

/** A file of a store that nothing needs any more, and why. */
private[zonemap] final case class Garbage(path: String, sizeBytes: Long, reason: String)

/**
 * Finds and deletes the files of a store that no retained snapshot needs. Runs only when it is called, never for a query.
 *
 * The table's metadata is read again first, so that a stale view cannot take a new snapshot for an expired one; files
 * younger than the grace time stay in any case, as their version may not be written yet. A damaged version is garbage:
 * readers take it as a miss. While it is younger than the grace time it may be half-written, and what it will name is
 * not known, so no file that versions name is garbage until it is whole or old; the same holds of a version of a later
 * release, for as long as its snapshot is retained. Files may vanish meanwhile. A race with a maintainer costs work that
 * is done again, never an answer.
 *
 * @param warned the versions that were warned of, each once
 */
private[zonemap] final class StoreGc(warned: Recent[String]) {
  import StoreGc._

  /**
   * @param graceMillis files younger than this stay
   * @param nowMillis the time that ages are taken at
   * @throws UnsupportedOperationException if the table's `FileIO` cannot list
   */
  def run(table: Table, store: IndexStore, graceMillis: Long, nowMillis: Long, dryRun: Boolean): Seq[Garbage] = {
    table.refresh()
    val retained = table.snapshots().asScala.map(_.snapshotId()).toSet
    val (old, young) = store.list().partition(_.createdAtMillis <= nowMillis - graceMillis)
    val (needed, expired) = versions(old).partition { case (id, _) => retained(id) }
    val oldNames = needed.map { case (id, file) => file -> namesOf(table, store, id) }
    val youngNames = versions(young).map { case (id, _) => namesOf(table, store, id) }
    val damaged = oldNames.collect { case (file, Damaged(why)) => garbage(store, file, s"it is damaged: $why") }
    val isUnknown = oldNames.exists(_._2 == Later) || youngNames.exists(!_.isInstanceOf[Known])
    val known = (oldNames.map(_._2) ++ youngNames).collect { case Known(files) => files }.flatten.toSet
    val unnamed = if (isUnknown) Nil else old.filter(f => StoreNames.isNamed(f.relativePath) && !known(f.relativePath))
    val found = expired.map { case (_, file) => garbage(store, file, "its snapshot is expired") } ++ damaged ++
      unnamed.map(garbage(store, _, "no version of a retained snapshot names it"))
    if (!dryRun) store.delete(found.map(_.path))
    found
  }

  /** What a version names; nothing if it is gone. */
  private def namesOf(table: Table, store: IndexStore, snapshotId: Long): Names =
    try Known(store.readVersion(snapshotId).toSeq.flatMap(_.fileNames))
    catch {
      case e: LaterFormatException =>
        warn(
          store,
          snapshotId,
          s"was written by a later release: ${e.getMessage}. gc retains files that versions name while it exists.")
        Later
      case e: CorruptIndexException =>
        warn(
          store,
          snapshotId,
          s"is damaged: ${e.getMessage}. Queries of snapshot $snapshotId of ${table.name()} do not use it, and gc " +
            "deletes it once it is older than older_than_hours."
        )
        Damaged(e.getMessage)
    }

  private def warn(store: IndexStore, snapshotId: Long, what: String): Unit = {
    val path = s"${store.root}/${IndexStore.Versions}/$snapshotId"
    if (warned.add(path)) log.warn(s"Zonemap: the version '$path' $what")
  }

  /** The versions among files, by their snapshots. */
  private def versions(files: Seq[StoredFile]): Seq[(Long, StoredFile)] =
    files.flatMap(file => file.versionId.map(_ -> file))

  private def garbage(store: IndexStore, file: StoredFile, reason: String): Garbage =
    Garbage(s"${store.root}/${file.relativePath}", file.sizeBytes, reason)
}

private object StoreGc {
  private val log = LoggerFactory.getLogger("zonemap.index")

  /** What a version tells of the files that versions name. */
  private sealed trait Names
  private final case class Known(files: Seq[String]) extends Names
  private final case class Damaged(why: String) extends Names
  private case object Later extends Names
}
