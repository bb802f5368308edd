// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.admin

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Table
import org.slf4j.LoggerFactory

import zonemap.core.io.{CorruptIndexException, LaterFormatException, RecentlySeen}
import zonemap.core.version.StoreNames
import zonemap.iceberg.store.{IndexStore, StoredFile}

/** A file of a store that is no longer needed, and the reason. */
private[zonemap] final case class Garbage(path: String, sizeBytes: Long, reason: String)

/**
 * Finds and deletes the files of a store that no retained snapshot needs. Runs only when a procedure calls it, never
 * for a query.
 *
 * The table's metadata is read again first, because in stale metadata a new snapshot would look like an expired one.
 * Files younger than the grace time are always retained, because the version that names them may not be written yet. A
 * damaged version is garbage, because readers treat it as missing. A damaged version younger than the grace time may be
 * incomplete, and the files that it will name are unknown; until it is complete or old, every file that a version could
 * name is retained. A version of a later release has the same effect for as long as its snapshot is retained, and so has
 * a version that was listed and is not found: another maintainer may be replacing it. Other files may vanish during the
 * run. A race with another maintainer can only cause work to be done again, never a wrong result.
 *
 * @param warned the versions for which a warning was logged, each once
 */
private[zonemap] final class StoreGc(warned: RecentlySeen[String]) {
  import StoreGc._

  /**
   * @param graceMillis files younger than this are retained
   * @param nowMillis the time at which the age of files is measured
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
    val isUnknown = oldNames.exists(_._2 == Unknown) || youngNames.exists(!_.isInstanceOf[Known])
    val known = (oldNames.map(_._2) ++ youngNames).collect { case Known(files) => files }.flatten.toSet
    val unnamed = if (isUnknown) Nil else old.filter(f => StoreNames.isNamed(f.relativePath) && !known(f.relativePath))
    val found = expired.map { case (_, file) => garbage(store, file, "its snapshot is expired") } ++ damaged ++
      unnamed.map(garbage(store, _, "no version of a retained snapshot names it"))
    if (!dryRun) store.delete(found.map(_.path))
    found
  }

  /** The files that a version names; unknown if the version was listed and is not found. */
  private def namesOf(table: Table, store: IndexStore, snapshotId: Long): Names =
    try store.readVersion(snapshotId).fold[Names](Unknown)(version => Known(version.fileNames))
    catch {
      case e: LaterFormatException =>
        warn(
          store,
          snapshotId,
          s"was written by a later release: ${e.getMessage}. collect_garbage retains files that versions name while it exists.")
        Unknown
      case e: CorruptIndexException =>
        warn(
          store,
          snapshotId,
          s"is damaged: ${e.getMessage}. Queries of snapshot $snapshotId of ${table.name()} do not use it, and collect_garbage " +
            "deletes it once it is older than older_than_hours."
        )
        Damaged(e.getMessage)
    }

  private def warn(store: IndexStore, snapshotId: Long, what: String): Unit = {
    val path = s"${store.root}/${IndexStore.Versions}/$snapshotId"
    if (warned.add(path)) log.warn(s"Zonemap: the version '$path' $what")
  }

  /** The versions among the files, with their snapshot ids. */
  private def versions(files: Seq[StoredFile]): Seq[(Long, StoredFile)] =
    files.flatMap(file => file.versionId.map(_ -> file))

  private def garbage(store: IndexStore, file: StoredFile, reason: String): Garbage =
    Garbage(s"${store.root}/${file.relativePath}", file.sizeBytes, reason)
}

private object StoreGc {
  private val log = LoggerFactory.getLogger("zonemap.index")

  /** The files that a version names, or the reason why they are unknown. */
  private sealed trait Names
  private final case class Known(files: Seq[String]) extends Names
  private final case class Damaged(why: String) extends Names
  private case object Unknown extends Names
}
