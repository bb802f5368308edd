// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.admin

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.iceberg.{Snapshot, Table}

import zonemap.core.version.SegmentRef
import zonemap.iceberg.convert.Lineage
import zonemap.iceberg.registry.StoreState
import zonemap.iceberg.snapshot.{SnapshotIndex, SnapshotKey, StoredSnapshots}
import zonemap.iceberg.store.IndexStore

/**
 * The state of one snapshot in the store of a table.
 *
 * @param opened the snapshot's index, if this process does not hold it and it can be loaded
 * @param isStored whether the store contains a version of the snapshot
 * @param nearest the stored index of another snapshot, if the store lacks this one and that one is newer than all that
 *   this process holds; plans must not use it
 * @param versions the retained snapshots that have a version; the last one written, if the storage refuses to list them
 * @param error the reason why the store cannot be used
 */
private[admin] final case class StoreLook(
    opened: Option[SnapshotIndex],
    isStored: Boolean,
    nearest: Option[SnapshotIndex],
    versions: Set[Long],
    error: Option[String])

private[admin] object StoreLook {

  /** Parents whose versions are tried by name, if the storage lists none and the hint names no ancestor. */
  private val MaxParents = 8

  /**
   * Reads the state from the store: no version is read twice. Storage errors are returned and never thrown.
   *
   * @param held the snapshots that this process holds
   */
  def at(
      table: Table,
      snapshot: Option[Snapshot],
      store: IndexStore,
      held: Map[SnapshotKey, SnapshotIndex]): StoreLook = {
    val isHeld = snapshot.exists(s => held.contains(SnapshotKey.of(s)))
    val opened = attempt(snapshot.filterNot(_ => isHeld).flatMap(StoredSnapshots.load(table, _, store)))
    val version = attempt(snapshot.filter(_ => isHeld).flatMap(s => store.readVersion(s.snapshotId())))
    // a store needs no permission to list, so a failure to list is not an error of the store
    val retained = table.snapshots().asScala.iterator.map(_.snapshotId()).toSet
    val listed = attempt(Some(store.versionsOf(retained))).toOption.flatten.getOrElse(Set.empty)
    lazy val latest = attempt(store.readLatest())
    val hint = if (listed.isEmpty) latest else Right(None)
    val isFound = isHeld || opened.exists(_.isDefined)
    val nearest = attempt(snapshot.filterNot(_ => isFound).flatMap { current =>
      candidates(table, current, held, listed, latest.toOption.flatten)
        .flatMap(StoredSnapshots.loadNamed(table, _, store))
        .nextOption()
    })
    val refs = version.toOption.flatten.fold(opened.toOption.flatten.toSeq.flatMap(refsOf(_, store))) { found =>
      found.segments ++ found.deleteSegments
    }
    StoreLook(
      opened.toOption.flatten,
      opened.exists(_.isDefined) || version.exists(_.isDefined),
      nearest.toOption.flatten,
      listed ++ hint.toOption.flatten.filter(retained),
      Seq(opened, version, hint, nearest).collectFirst { case Left(error) => error }.orElse(damageOf(refs, store))
    )
  }

  private def refsOf(index: SnapshotIndex, store: IndexStore): Seq[SegmentRef] =
    (index.segments.map(_.origin) ++ index.deletes.segments.map(_.origin))
      .flatMap(_.stored)
      .filter(_.storeRoot == store.root)
      .map(_.ref)

  /** The damage of segments that a listing shows, though no plan has read them since. */
  private def damageOf(refs: Seq[SegmentRef], store: IndexStore): Option[String] =
    if (refs.isEmpty) None else Try(store.damageOf(refs)).toOption.flatten.map(StoreState.damaged)

  /** The snapshots whose versions are requested in turn, because the snapshot itself has none. */
  private def candidates(
      table: Table,
      snapshot: Snapshot,
      held: Map[SnapshotKey, SnapshotIndex],
      listed: Set[Long],
      latest: => Option[Long]): Iterator[Long] = {
    val parents = Lineage.of(table, snapshot).drop(1).toSeq
    val newerThanHeld = parents.takeWhile(id => !held.contains(SnapshotKey.of(table.snapshot(id))))
    val fromList = newerThanHeld.filter(listed)
    if (fromList.nonEmpty) fromList.iterator
    else {
      val ancestor = latest.filter(newerThanHeld.contains)
      val parents = if (listed.isEmpty) newerThanHeld.take(MaxParents).filterNot(ancestor.contains) else Nil
      val other = latest.filter(id => held.isEmpty && id != snapshot.snapshotId() && !ancestor.contains(id))
      ancestor.iterator ++ parents ++ other
    }
  }

  /** The result of a read of the store, or the reason why the store cannot be used. */
  def attempt[A](read: => Option[A]): Either[String, Option[A]] =
    try Right(read)
    catch { case NonFatal(e) => Left(StoreState.problemOfRead(e)) }
}
