package zonemap.iceberg.build

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.{ManifestContent, ManifestFile, PartitionSpec, Snapshot, Table}

import zonemap.core.segment.{ByteSource, DeleteSegment, Segment, SegmentMerger}
import zonemap.iceberg.index._
import zonemap.iceberg.store.{IndexStore, Level}

/** The manifests of a snapshot, split into those the index knows and those it does not. */
private[zonemap] final class ManifestDiff(
    val knownData: Seq[Located[Segment]],
    val unknownData: Seq[ManifestFile],
    val knownDeletes: Seq[Located[DeleteSegment]],
    val unknownDeletes: Seq[ManifestFile]) {

  /** Entries that would have to be decoded; a manifest list without counts is taken by its bytes. */
  def unknownEntries: Long = (unknownData ++ unknownDeletes).iterator.map { m =>
    ManifestIdentities.liveEntries(m).fold(m.length() / 100)(_.toLong)
  }.sum

  def knowsAnything: Boolean = knownData.nonEmpty || knownDeletes.nonEmpty
}

/**
 * Makes the [[SnapshotIndex]] of a snapshot: known manifests from the segments at hand, the others decoded.
 *
 * Reads the snapshot's manifest list and every unknown manifest once. Thread-safe: no state.
 */
private[zonemap] object SnapshotIndexer {

  /** Beyond this many segments in a snapshot the small ones are merged into one. */
  val MaxSegments = 32

  private val SmallSegmentRows = SegmentTask.TargetRows / 4

  /** Reads the manifest list and looks every manifest up. Manifests without live entries are left out. */
  def diff(table: Table, snapshot: Snapshot, index: TableIndex): ManifestDiff = {
    val live = snapshot.allManifests(table.io()).asScala.toSeq
      .filterNot(m => ManifestIdentities.liveEntries(m).contains(0))
    val (dataManifests, deleteManifests) = live.partition(_.content() == ManifestContent.DATA)
    val data = dataManifests.map(m => (m, index.dataManifest(ManifestIdentities.of(m))))
    val deletes = deleteManifests.map(m => (m, index.deleteManifest(ManifestIdentities.of(m))))
    new ManifestDiff(
      data.flatMap(_._2),
      data.collect { case (m, None) => m },
      deletes.flatMap(_._2),
      deletes.collect { case (m, None) => m })
  }

  /** Decodes what `diff` does not know into memory and puts the snapshot together. */
  def inMemory(table: Table, snapshot: Snapshot, diff: ManifestDiff): SnapshotIndex = {
    val specs = specsOf(table)
    val columns = IndexedColumns.of(table, snapshot)
    val data = SegmentTask.group(diff.unknownData, columns, Level.Micro).map { task =>
      val source = ByteSource.ofBytes(task.bytes(table.io(), specs))
      live(Segment.open(source), SegmentOrigin(source, None))
    }
    val deletes = SegmentTask.group(diff.unknownDeletes, columns, Level.Deletes).map { task =>
      val source = ByteSource.ofBytes(task.bytes(table.io(), specs))
      liveDeletes(DeleteSegment.open(source), SegmentOrigin(source, None))
    }
    assemble(table, snapshot, known(diff) ++ data, knownDeletes(diff) ++ deletes)
  }

  /** Builds what `diff` does not know into `store` with `runner` and puts the snapshot together. */
  def inStore(
      table: Table,
      snapshot: Snapshot,
      diff: ManifestDiff,
      store: IndexStore,
      runner: SegmentTaskRunner,
      segmentRows: Int = SegmentTask.TargetRows): SnapshotIndex = {
    val columns = IndexedColumns.of(table, snapshot)
    val level = if (diff.knowsAnything) Level.Micro else Level.Day
    val data = runner.run(SegmentTask.group(diff.unknownData, columns, level, segmentRows), store).map { ref =>
      val source = store.openSegment(ref)
      live(Segment.open(source), SegmentOrigin(source, Some(StoredSegment(store.root, ref))))
    }
    val deletes = runner.run(SegmentTask.group(diff.unknownDeletes, columns, Level.Deletes, segmentRows), store).map { ref =>
      val source = store.openSegment(ref)
      liveDeletes(DeleteSegment.open(source), SegmentOrigin(source, Some(StoredSegment(store.root, ref))))
    }
    assemble(table, snapshot, known(diff) ++ data, knownDeletes(diff) ++ deletes)
  }

  def specsOf(table: Table): Map[Int, PartitionSpec] =
    table.specs().asScala.iterator.map { case (id, spec) => id.intValue -> spec }.toMap

  private def assemble(
      table: Table,
      snapshot: Snapshot,
      data: Seq[LiveSegment],
      deletes: Seq[LiveDeleteSegment]): SnapshotIndex =
    new SnapshotIndex(
      SnapshotKey.of(snapshot),
      snapshot.sequenceNumber(),
      mergeSmall(data).toIndexedSeq,
      new SnapshotDeletes(deletes.toIndexedSeq, SnapshotDeletes.unpartitioned(table)))

  private def known(diff: ManifestDiff): Seq[LiveSegment] =
    bySegment(diff.knownData).map { case (located, ordinals) =>
      new LiveSegment(located.segment, located.origin, ordinals)
    }

  private def knownDeletes(diff: ManifestDiff): Seq[LiveDeleteSegment] =
    bySegment(diff.knownDeletes).map { case (located, ordinals) =>
      new LiveDeleteSegment(located.segment, located.origin, ordinals)
    }

  private def bySegment[S](located: Seq[Located[S]]): Seq[(Located[S], Array[Int])] = {
    val groups = mutable.LinkedHashMap.empty[S, mutable.ArrayBuffer[Located[S]]]
    located.foreach(l => groups.getOrElseUpdate(l.segment, mutable.ArrayBuffer.empty) += l)
    groups.valuesIterator.map(group => (group.head, group.iterator.map(_.ordinal).toArray.sorted)).toSeq
  }

  /** Keeps the number of segments of a snapshot bounded: the small ones become one, in memory. */
  private def mergeSmall(segments: Seq[LiveSegment]): Seq[LiveSegment] =
    if (segments.size <= MaxSegments) segments
    else {
      val (small, large) = segments.partition(_.liveCount <= SmallSegmentRows)
      if (small.size < 2) segments
      else {
        val source = ByteSource.ofBytes(SegmentMerger.merge(small.map(s => (s.segment, s.liveManifests.toSeq))))
        large :+ live(Segment.open(source), SegmentOrigin(source, None))
      }
    }

  private def live(segment: Segment, origin: SegmentOrigin): LiveSegment =
    new LiveSegment(segment, origin, segment.manifests.indices.toArray)

  private def liveDeletes(segment: DeleteSegment, origin: SegmentOrigin): LiveDeleteSegment =
    new LiveDeleteSegment(segment, origin, segment.manifests.indices.toArray)
}
