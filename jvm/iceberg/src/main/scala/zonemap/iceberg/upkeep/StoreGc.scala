package zonemap.iceberg.upkeep

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Table

import zonemap.core.segment.CorruptSegmentException
import zonemap.iceberg.store.{IndexStore, StoredFile}

/** A file of a store that nothing needs any more, and why. */
private[zonemap] final case class Garbage(path: String, sizeBytes: Long, reason: String)

/**
 * Finds and deletes the files of a store that no retained snapshot needs. Runs only when it is called, never for a query.
 *
 * The table's metadata is read again first, so that a stale view cannot take a new snapshot for an expired one; files
 * younger than the grace time stay in any case, as their version may not be written yet. Files may vanish meanwhile.
 * A race with a maintainer costs work that is done again, never an answer.
 */
private[zonemap] object StoreGc {

  /**
   * @param graceMillis files younger than this stay
   * @param nowMillis the time that ages are taken at
   * @throws UnsupportedOperationException if the table's `FileIO` cannot list
   */
  def run(table: Table, store: IndexStore, graceMillis: Long, nowMillis: Long, dryRun: Boolean): Seq[Garbage] = {
    table.refresh()
    val retained = table.snapshots().asScala.map(_.snapshotId()).toSet
    val (old, young) = store.list().partition(_.createdAtMillis <= nowMillis - graceMillis)
    val oldVersions = old.flatMap(file => versionId(file).map(_ -> file))
    val expired = oldVersions.collect {
      case (id, file) if !retained(id) => garbage(store, file, "its snapshot is expired")
    }
    val keptIds = oldVersions.map(_._1).filter(retained) ++ young.flatMap(versionId)
    val found = named(store, keptIds) match {
      case Some(names) =>
        expired ++ old.filter(file => isNamed(file) && !names(file.relativePath)).map {
          garbage(store, _, "no version of a retained snapshot names it")
        }
      // what an unreadable version names is not known
      case None => expired
    }
    if (!dryRun) store.delete(found.map(_.path))
    found
  }

  /** The segments and facts that versions name; `None` if one of them is damaged. A version that is gone names nothing. */
  private def named(store: IndexStore, versionIds: Seq[Long]): Option[Set[String]] =
    try Some(versionIds.flatMap(store.readVersion).flatMap(_.fileNames).toSet)
    catch { case _: CorruptSegmentException => None }

  private def versionId(file: StoredFile): Option[Long] =
    Option
      .when(file.relativePath.startsWith(s"${IndexStore.Versions}/"))(file.relativePath)
      .flatMap(_.stripPrefix(s"${IndexStore.Versions}/").toLongOption)

  /** Whether the file is of those that versions name. */
  private def isNamed(file: StoredFile): Boolean =
    (file.relativePath.startsWith(s"${IndexStore.Segments}/") && file.relativePath.matches(".*\\.zmd?")) ||
      (file.relativePath.startsWith(s"${IndexStore.Facts}/") && file.relativePath.endsWith(".zmf"))

  private def garbage(store: IndexStore, file: StoredFile, reason: String): Garbage =
    Garbage(s"${store.root}/${file.relativePath}", file.sizeBytes, reason)
}
