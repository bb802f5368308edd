package zonemap.iceberg.admin

import scala.util.control.NonFatal

import org.apache.iceberg.{Snapshot, Table}

import zonemap.iceberg.registry.StoreState
import zonemap.iceberg.snapshot.{SnapshotIndex, StoredSnapshots}
import zonemap.iceberg.store.IndexStore

/**
 * The state of one snapshot in the store of a table.
 *
 * @param opened the snapshot's index, if it was requested and can be loaded
 * @param isStored whether the store contains a version of the snapshot
 * @param latest the snapshot that the hint names, if its version can be read
 * @param error the reason why the store cannot be used
 */
private[admin] final case class StoreLook(
    opened: Option[SnapshotIndex],
    isStored: Boolean,
    latest: Option[Long],
    error: Option[String])

private[admin] object StoreLook {

  /** Reads the state from the store. Storage errors are returned and never thrown. */
  def at(table: Table, snapshot: Option[Snapshot], store: IndexStore, isHeld: Boolean): StoreLook = {
    val opened = attempt(snapshot.filterNot(_ => isHeld).flatMap(StoredSnapshots.load(table, _, store)))
    val version = attempt(snapshot.filter(_ => isHeld).flatMap(s => store.readVersion(s.snapshotId())))
    val latest = attempt(store.readLatest().filter(id => store.readVersion(id).isDefined))
    val found = Seq(opened, version, latest)
    StoreLook(
      opened.toOption.flatten,
      opened.exists(_.isDefined) || version.exists(_.isDefined),
      latest.toOption.flatten,
      found.collectFirst { case Left(error) => error })
  }

  private def attempt[A](read: => Option[A]): Either[String, Option[A]] =
    try Right(read)
    catch { case NonFatal(e) => Left(StoreState.problemOfRead(e)) }
}
