// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.snapshot

import org.apache.iceberg.{Snapshot, Table}

import zonemap.core.io.{ByteSource, CorruptIndexException}
import zonemap.core.segment.{Segment, SegmentManifest}
import zonemap.core.version.{SegmentRef, VersionFile}
import zonemap.iceberg.convert.Lineage
import zonemap.iceberg.store.{IndexStore, NotFound}

/**
 * Reads snapshots from a store; [[SnapshotWriter]] writes them.
 *
 * Loading verifies that a version belongs to this table and snapshot, that its counts are consistent, and that its live
 * manifests are exactly the ones that the snapshot lists. A violation throws [[CorruptIndexException]], which readers
 * treat as a missing version.
 */
private[zonemap] object StoredSnapshots {

  /**
   * The stored index of exactly `snapshot`, if the store contains one. The manifest list is read in parallel with the
   * store.
   */
  def load(table: Table, snapshot: Snapshot, store: IndexStore): Option[SnapshotIndex] = {
    val listed = ListedManifests.reading(table, snapshot, store.access.fetches)
    val stored = store.readVersion(snapshot.snapshotId()).map { version =>
      val key = SnapshotKey.of(snapshot)
      verify(
        version.manifestListLocation == key.manifestListLocation,
        s"version ${version.snapshotId} names another manifest list")
      val index = open(table, version, key, store)
      listed.differenceFrom(index).foreach(what => verify(false, s"version ${version.snapshotId} $what"))
      index
    }
    // a caller that continues without a version needs the manifest list
    if (stored.isEmpty) listed.await()
    stored
  }

  /**
   * The index of a stored snapshot of the same table near `snapshot`, from which known manifests can be found: the
   * snapshot that the hint names, else the nearest parent with a version. The manifest list of that snapshot is not
   * read, so the index is unverified and never serves a plan ([[SnapshotIndex.isVerified]]).
   *
   * @param maxParents the greatest number of parents whose versions are requested
   */
  def loadNearest(table: Table, snapshot: Snapshot, store: IndexStore, maxParents: Int): Option[SnapshotIndex] = {
    val latest = store.readLatest()
    val parents = Lineage.of(table, snapshot).slice(1, maxParents + 1)
    val candidates = latest.iterator ++ parents.filterNot(latest.contains)
    candidates.flatMap(loadNamed(table, _, store)).nextOption()
  }

  /** The stored index of the snapshot of that id, to know manifests from: nothing is read of the snapshot. */
  def loadNamed(table: Table, snapshotId: Long, store: IndexStore): Option[SnapshotIndex] =
    store.readVersion(snapshotId).map { version =>
      open(table, version, SnapshotKey(version.snapshotId, version.manifestListLocation), store).unverified
    }

  private def open(table: Table, version: VersionFile, key: SnapshotKey, store: IndexStore): SnapshotIndex =
    try opened(table, version, key, store)
    catch {
      case e: OutOfMemoryError =>
        throw new CorruptIndexException(s"version ${version.snapshotId} needs more memory than is available", e)
    }

  private def opened(table: Table, version: VersionFile, key: SnapshotKey, store: IndexStore): SnapshotIndex = {
    verify(version.tableUuid == table.uuid().toString, s"version ${version.snapshotId} belongs to another table")
    verify(version.snapshotId == key.snapshotId, s"version ${key.snapshotId} holds snapshot ${version.snapshotId}")
    val sources = (version.segments ++ version.deleteSegments).map(openSource(_, store))
    sources.foreach(Segment.prefetch)
    val data = version.segments.zip(sources).map { case (ref, source) =>
      val segment = Segment.open(source)
      new LiveSegment(
        segment,
        SegmentOrigin.inStore(table, source, ref, segment.manifests, store),
        liveOf(ref, segment.manifests))
    }
    val deletes = version.deleteSegments.zip(sources.drop(version.segments.size)).map { case (ref, source) =>
      val segment = KeyedDeletes.open(source)
      new LiveDeleteSegment(
        segment,
        SegmentOrigin.inStore(table, source, ref, segment.manifests, store),
        liveOf(ref, segment.manifests))
    }
    val index = new SnapshotIndex(
      key,
      version.sequenceNumber,
      data.toIndexedSeq,
      new SnapshotDeletes(deletes.toIndexedSeq, SnapshotDeletes.unpartitioned(table)),
      Some(new TableFacts(version.sequenceNumber, version.facts, store)),
      Some(version.columns)
    )
    verify(
      index.dataFiles == version.dataFiles,
      s"${index.dataFiles} data files where ${version.dataFiles} are recorded")
    verify(
      index.deletes.count == version.deleteFiles,
      s"${index.deletes.count} delete files where ${version.deleteFiles} are recorded")
    index
  }

  private def openSource(ref: SegmentRef, store: IndexStore): ByteSource =
    try {
      val source = store.openSegment(ref)
      verify(source.sizeBytes == ref.sizeBytes, s"segment ${ref.relativePath} has another size than recorded")
      source
    } catch { case NotFound() => throw new CorruptIndexException(s"segment ${ref.relativePath} is gone") }

  private def liveOf(ref: SegmentRef, manifests: IndexedSeq[SegmentManifest]): Array[Int] = {
    verify(ref.liveManifests.forall(manifests.indices.contains), s"segment ${ref.relativePath} has fewer manifests")
    ref.liveManifests.foreach { ordinal =>
      val manifest = manifests(ordinal)
      for (added <- Option(manifest.identity.addedFiles); existing <- Option(manifest.identity.existingFiles))
        verify(
          added + existing == manifest.rowCount,
          s"segment ${ref.relativePath} holds ${manifest.rowCount} of ${added + existing} entries of a manifest")
    }
    ref.liveManifests.toArray
  }

  private def verify(holds: Boolean, what: => String): Unit =
    if (!holds) throw new CorruptIndexException(what)
}
