// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.snapshot

import java.util.concurrent.{ExecutionException, FutureTask}

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.iceberg.{ManifestFile, Snapshot, Table}

import zonemap.core.io.{ByteSource, CorruptIndexException}
import zonemap.core.segment.{ManifestIdentity, Segment, SegmentManifest}
import zonemap.core.version.{SegmentRef, VersionFile}
import zonemap.iceberg.convert.{Lineage, ManifestIdentities}
import zonemap.iceberg.store.{FileIOByteSource, IndexStore, NotFound, StorePool}

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

/**
 * The manifests that a snapshot lists. Another thread reads the manifest list while the snapshot's stored version is
 * read.
 */
private[snapshot] final class ListedManifests private (reading: FutureTask[Seq[ManifestFile]]) {

  /** Describes how the live manifests of `index` differ from the listed ones; `None` if they are the same. */
  def differenceFrom(index: SnapshotIndex): Option[String] = {
    val counts = mutable.HashMap.empty[ManifestIdentity, Int]
    def count(identity: ManifestIdentity, by: Int): Unit =
      counts.updateWith(identity)(known => Some(known.getOrElse(0) + by).filter(_ != 0)): Unit
    listed().foreach(manifest => count(ManifestIdentities.of(manifest), 1))
    index.segments.foreach(s => s.liveManifests.foreach(o => count(s.segment.manifests(o).identity, -1)))
    index.deletes.segments.foreach(s => s.liveManifests.foreach(o => count(s.segment.manifests(o).identity, -1)))
    val (lacking, foreign) = counts.valuesIterator.partition(_ > 0)
    val (lacks, strangers) = (lacking.sum, -foreign.sum)
    misplaced(index).orElse(Option.when(lacks + strangers > 0) {
      s"lacks $lacks manifests that its snapshot lists, and names $strangers that it does not list"
    })
  }

  /**
   * Verifies that delete manifests are in delete segments and data manifests in data segments; describes a violation.
   */
  private def misplaced(index: SnapshotIndex): Option[String] = {
    def holds(manifests: Iterator[ManifestIdentity], content: Int) = manifests.forall(_.content == content)
    val isPlaced = index.segments.forall(s =>
      holds(s.liveManifests.iterator.map(s.segment.manifests(_).identity), ListedManifests.Data)) &&
      index.deletes.segments.forall(s =>
        holds(s.liveManifests.iterator.map(s.segment.manifests(_).identity), ListedManifests.Deletes))
    Option.unless(isPlaced)("names manifests in segments of another content")
  }

  /** Waits for the list. A failed read is not reported here: a caller that needs the list reads it again. */
  def await(): Unit =
    try listed(): Unit
    catch { case NonFatal(_) => () }

  private def listed(): Seq[ManifestFile] = {
    // if no other thread has started the task yet, this thread runs it
    reading.run()
    try reading.get()
    catch { case e: ExecutionException => throw e.getCause }
  }
}

private[snapshot] object ListedManifests {
  private val Data = org.apache.iceberg.ManifestContent.DATA.id()
  private val Deletes = org.apache.iceberg.ManifestContent.DELETES.id()

  /** Starts to read the manifest list on a thread of `fetches`. */
  def reading(table: Table, snapshot: Snapshot, fetches: StorePool): ListedManifests = {
    val task = new FutureTask[Seq[ManifestFile]](() => ManifestIdentities.live(table, snapshot))
    val folder = Option(snapshot.manifestListLocation()).fold("")(FileIOByteSource.folderOf)
    fetches.execute(folder)(task.run())
    new ListedManifests(task)
  }
}
