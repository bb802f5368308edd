package zonemap.iceberg.admin

import scala.util.control.NonFatal

import org.apache.iceberg.{Snapshot, Table}

import zonemap.iceberg.convert.Lineage
import zonemap.iceberg.registry.{StoreState, TableIndex}
import zonemap.iceberg.snapshot.{SnapshotIndex, SnapshotKey, StoredSnapshots}
import zonemap.iceberg.store.IndexStore

/**
 * The state of one snapshot in the store of a table.
 *
 * @param opened the snapshot's index, if it was requested and can be loaded
 * @param isStored whether the store contains a version of the snapshot
 * @param nearest the stored index of another snapshot, if the store lacks this one and that one is newer than all that
 *   this process holds; plans must not use it
 * @param versions the snapshots that have a version; the last one written, if the storage refuses to list them
 * @param error the reason why the store cannot be used
 */
private[admin] final case class StoreLook(
    opened: Option[SnapshotIndex],
    isStored: Boolean,
    nearest: Option[SnapshotIndex],
    versions: Set[Long],
    error: Option[String])

private[admin] object StoreLook {

  /** Parents whose versions are tried by name, if the hint names no ancestor. */
  private val MaxParents = 8

  /** Reads the state from the store. Storage errors are returned and never thrown. */
  def at(table: Table, snapshot: Option[Snapshot], store: IndexStore, index: TableIndex): StoreLook = {
    val isHeld = snapshot.exists(s => index.get(SnapshotKey.of(s)).isDefined)
    val opened = attempt(snapshot.filterNot(_ => isHeld).flatMap(StoredSnapshots.load(table, _, store)))
    val version = attempt(snapshot.filter(_ => isHeld).flatMap(s => store.readVersion(s.snapshotId())))
    val latest = attempt(store.readLatest().filter(id => store.readVersion(id).isDefined))
    val isCovered = isHeld || opened.exists(_.isDefined)
    val nearest =
      attempt(snapshot.filterNot(_ => isCovered).flatMap(nearestOf(table, _, store, index, latest.toOption.flatten)))
    // a store needs no permission to list, so a failure to list is not an error of the store
    val versions = attempt(Some(store.versionIds()))
    val found = Seq(opened, version, latest, nearest)
    StoreLook(
      opened.toOption.flatten,
      opened.exists(_.isDefined) || version.exists(_.isDefined),
      nearest.toOption.flatten,
      versions.toOption.flatten.getOrElse(Set.empty) ++ latest.toOption.flatten,
      found.collectFirst { case Left(error) => error }
    )
  }

  private def nearestOf(
      table: Table,
      snapshot: Snapshot,
      store: IndexStore,
      index: TableIndex,
      latest: Option[Long]): Option[SnapshotIndex] = {
    val parents = Lineage.of(table, snapshot).drop(1).toSeq
    val newerThanHeld = parents.takeWhile(id => index.get(SnapshotKey.of(table.snapshot(id))).isEmpty)
    val isNothingHeld = newerThanHeld.size == parents.size && index.newest.isEmpty
    val named = latest.filter(id => newerThanHeld.contains(id)) match {
      case Some(ancestor) => Seq(ancestor)
      case None           => newerThanHeld.take(MaxParents) ++ latest.filter(_ => isNothingHeld)
    }
    named.iterator.flatMap(StoredSnapshots.loadNamed(table, _, store)).nextOption()
  }

  /** The result of a read of the store, or the reason why the store cannot be used. */
  def attempt[A](read: => Option[A]): Either[String, Option[A]] =
    try Right(read)
    catch { case NonFatal(e) => Left(StoreState.problemOfRead(e)) }
}
