// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.admin

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.{ManifestContent, ManifestFile, Snapshot, Table}

import zonemap.core.segment.Segment
import zonemap.iceberg.convert.{Lineage, ManifestIdentities}
import zonemap.iceberg.registry.TableIndex
import zonemap.iceberg.snapshot.{Located, SnapshotIndex, SnapshotKey}
import zonemap.iceberg.store.StoreAccess

/**
 * How much of a table's current snapshot the index covers.
 *
 * @param newest the newest snapshot that the index covers: the current one, else an ancestor, else any other
 * @param isExact whether `newest` is the current snapshot
 * @param lagSnapshots as in [[StatusResult]]
 * @param lagMillis the age difference of the newest covered snapshot and the current one; `None` if unknown
 * @param lackingSinceMillis when the oldest snapshot that the index lacks was committed; `None` if it lacks none, or if
 *   the table retains no covered ancestor, because older snapshots that the index lacked may have expired too
 * @param error why the manifest list cannot be read
 */
private[admin] final case class Coverage(
    newest: Option[SnapshotIndex],
    isExact: Boolean,
    lagSnapshots: Long,
    lagMillis: Option[Long],
    lackingSinceMillis: Option[Long],
    counts: CoverageCounts,
    error: Option[String] = None)

private[admin] object Coverage {

  /**
   * The coverage of a table.
   *
   * @param held the snapshots of `index`, all of one moment
   */
  def of(
      table: Table,
      current: Option[Snapshot],
      index: TableIndex,
      held: Map[SnapshotKey, SnapshotIndex],
      look: StoreLook,
      access: StoreAccess): Coverage = {
    val (snapshotsCovered, snapshotsTotal) = snapshots(table, held, look)
    def counts(covered: Long, total: Long) = CoverageCounts(covered, total, snapshotsCovered, snapshotsTotal)
    current match {
      case None => Coverage(None, isExact = false, 0L, None, None, counts(0L, 0L))
      case Some(snapshot) =>
        held.get(SnapshotKey.of(snapshot)).orElse(look.opened) match {
          case Some(exact) =>
            Coverage(Some(exact), isExact = true, 0L, Some(0L), None, counts(exact.dataFiles, exact.dataFiles))
          case None =>
            val files = attempt(filesOf(table, snapshot, index, look, access))
            val (covered, total) = files.getOrElse((-1L, -1L))
            behind(table, snapshot, held, look).copy(counts = counts(covered, total), error = files.left.toOption)
        }
    }
  }

  /** The distance from the newest covered snapshot to the current one. */
  private def behind(
      table: Table,
      current: Snapshot,
      held: Map[SnapshotKey, SnapshotIndex],
      look: StoreLook): Coverage = {
    val ancestors = Lineage.of(table, current).toIndexedSeq
    def heldOf(id: Long) = held.get(SnapshotKey.of(table.snapshot(id)))
    val lag = ancestors.indexWhere(id => look.nearest.exists(_.key.snapshotId == id) || heldOf(id).isDefined)
    val other = Coverage(
      newest = held.values.maxByOption(_.sequenceNumber).orElse(look.nearest),
      isExact = false,
      lagSnapshots = -1L,
      lagMillis = None,
      lackingSinceMillis = None,
      counts = CoverageCounts.Unknown
    )
    if (lag < 0) other
    else
      other.copy(
        newest = heldOf(ancestors(lag)).orElse(look.nearest),
        lagSnapshots = lag.toLong,
        lagMillis = Some(millisBetween(table.snapshot(ancestors(lag)), current)),
        lackingSinceMillis = Some(table.snapshot(ancestors(math.max(0, lag - 1))).timestampMillis())
      )
  }

  private def millisBetween(older: Snapshot, newer: Snapshot): Long =
    math.max(0L, newer.timestampMillis() - older.timestampMillis())

  /** The data files of a snapshot that the index holds, and all of them, by the manifest list; nothing is decoded. */
  private def filesOf(
      table: Table,
      snapshot: Snapshot,
      index: TableIndex,
      look: StoreLook,
      access: StoreAccess): (Long, Long) = {
    val stored = look.nearest.map { nearest =>
      val lookup = new TableIndex(table.uuid(), access)
      lookup.put(nearest)
      lookup
    }
    val files = ManifestIdentities.live(table, snapshot).filter(_.content() == ManifestContent.DATA).map { manifest =>
      val identity = ManifestIdentities.of(manifest)
      val known = index.dataManifest(identity).orElse(stored.flatMap(_.dataManifest(identity)))
      (known.isDefined, known.map(entries(manifest, _)).orElse(ManifestIdentities.liveEntries(manifest).map(_.toLong)))
    }
    val covered = files.collect { case (true, Some(count)) => count }.sum
    (covered, if (files.forall(_._2.isDefined)) files.flatMap(_._2).sum else -1L)
  }

  private def entries(manifest: ManifestFile, known: Located[Segment]): Long =
    ManifestIdentities.liveEntries(manifest).getOrElse(known.segment.manifests(known.ordinal).rowCount).toLong

  /** The retained snapshots that the index covers, and all of them. The versions of a store with an error do not count. */
  private def snapshots(table: Table, held: Map[SnapshotKey, SnapshotIndex], look: StoreLook): (Int, Int) = {
    val all = table.snapshots().asScala.toSeq
    val opened = (look.opened ++ look.nearest).map(_.key.snapshotId).toSet
    val stored = if (look.error.isDefined) opened else opened ++ look.versions
    (all.count(s => stored(s.snapshotId()) || held.contains(SnapshotKey.of(s))), all.size)
  }

  private def attempt[A](read: => A): Either[String, A] =
    try Right(read)
    catch { case NonFatal(e) => Left(s"the manifest list of the snapshot cannot be read: $e") }
}
