package zonemap.iceberg.build

import org.apache.iceberg.{ManifestFile, PartitionSpec}
import org.apache.iceberg.io.FileIO

import zonemap.core.segment.{Checksums, SegmentRef}
import zonemap.iceberg.plan.PlannerSettings
import zonemap.iceberg.store.{IndexStore, Level, StorePool}

/**
 * The making of one segment from a group of manifests: what a build hands to a thread or to a Spark task.
 *
 * Serializable. A task may run twice: the same manifests make the same bytes, under a name of their own each time.
 *
 * @param manifests data manifests, or delete manifests when `level` is [[Level.Deletes]]
 * @param writers who wrote the data files of the manifests
 * @param written whole segments of the store: one of the same bytes is taken rather than written again
 */
private[zonemap] final case class SegmentTask(
    manifests: Seq[ManifestFile],
    columns: IndexedColumns,
    level: Level,
    writers: FileWriters = FileWriters.Unknown,
    written: Seq[SegmentRef] = Nil) {

  def bytes(io: FileIO, specs: Map[Int, PartitionSpec], fetches: StorePool): Array[Byte] = {
    val indexer = new ManifestIndexer(io, specs, columns, fetches, writers)
    level match {
      case Level.Deletes => indexer.deleteSegment(manifests)
      case _             => indexer.dataSegment(manifests)
    }
  }

  /** Makes the segment and writes it to the store; answers its name there. */
  def write(io: FileIO, specs: Map[Int, PartitionSpec], store: IndexStore): SegmentRef =
    this.store(bytes(io, specs, store.access.fetches), store)

  def store(bytes: Array[Byte], store: IndexStore): SegmentRef = {
    val hash = Checksums.contentHash(bytes)
    val same = written.find { ref =>
      ref.contentHash == hash && Level.ofPath(ref.relativePath) == level && store.holds(ref.relativePath, bytes)
    }
    val path = same
      .map(_.relativePath)
      .getOrElse(
        store.writeSegment(
          level,
          manifests.iterator.map(_.sequenceNumber()).min,
          manifests.iterator.map(_.sequenceNumber()).max,
          hash,
          bytes))
    SegmentRef(path, hash, bytes.length.toLong, manifests.indices)
  }
}

private[zonemap] object SegmentTask {

  /**
   * Groups manifests, in commit order, into tasks of about `targetRows` entries each; a manifest is never split.
   */
  def group(
      manifests: Seq[ManifestFile],
      columns: IndexedColumns,
      level: Level,
      writers: FileWriters,
      targetRows: Int = PlannerSettings.SegmentRows): Seq[SegmentTask] = {
    val inOrder = manifests.sortBy(m => (m.sequenceNumber(), m.minSequenceNumber(), m.path()))
    val groups = inOrder.foldLeft(List.empty[(Long, List[ManifestFile])]) {
      case ((rows, group) :: done, manifest) if rows + entries(manifest) <= targetRows =>
        (rows + entries(manifest), manifest :: group) :: done
      case (done, manifest) => (entries(manifest), List(manifest)) :: done
    }
    groups.reverseIterator.map { case (rows, group) =>
      SegmentTask(group.reverse, columns, levelOf(rows, level), writers)
    }.toSeq
  }

  /** A segment as large as merging would make it starts at the top. */
  private def levelOf(rows: Long, level: Level): Level =
    if (level == Level.Micro && rows >= PlannerSettings.SegmentRows / 4) Level.Day else level

  private def entries(manifest: ManifestFile): Long =
    ManifestIdentities.liveEntries(manifest).fold(manifest.length() / BytesPerEntryGuess)(_.toLong)

  /** For manifest lists without counts only; decides the grouping, nothing else. */
  private val BytesPerEntryGuess = 200L
}

/** Runs the tasks of a build that writes to a store. */
private[zonemap] trait SegmentTaskRunner {

  /** Runs every task and answers the written segments in the order of the tasks. */
  def run(tasks: Seq[SegmentTask], store: IndexStore): Seq[SegmentRef]
}
