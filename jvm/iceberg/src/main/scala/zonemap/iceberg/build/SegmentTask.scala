// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.build

import org.apache.iceberg.{ManifestFile, PartitionSpec}
import org.apache.iceberg.io.FileIO

import zonemap.core.io.Checksums
import zonemap.core.version.SegmentRef
import zonemap.iceberg.convert.ManifestIdentities
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.store.{IndexStore, Level, StorePool}

/**
 * Builds one segment from a group of manifests, in a thread or in a Spark task.
 *
 * Serializable. A task may run twice: the same manifests yield the same bytes, under a new name each time.
 *
 * @param manifests data manifests, or delete manifests when `level` is [[Level.Deletes]]
 * @param writers decides which kind of writer wrote the data files of the manifests
 * @param written whole segments of the store: the task reuses one with the same bytes instead of writing it again
 */
private[zonemap] final case class SegmentTask(
    manifests: Seq[ManifestFile],
    columns: IndexedColumns,
    level: Level,
    writers: FileWriters = FileWriters.Unknown,
    written: Seq[SegmentRef] = Nil) {

  /** @param known data files whose manifests are not read */
  def bytes(
      io: FileIO,
      specs: Map[Int, PartitionSpec],
      fetches: StorePool,
      known: AppendedFiles = AppendedFiles.Empty): Array[Byte] = {
    val indexer = new ManifestIndexer(io, specs, columns, fetches, writers, known)
    level match {
      case Level.Deletes => indexer.deleteSegment(manifests)
      case _             => indexer.dataSegment(manifests)
    }
  }

  /** Builds the segment and writes it to the store; returns its reference. */
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

  /** A segment that is as large as a merged one starts at the highest level. */
  private def levelOf(rows: Long, level: Level): Level =
    if (level == Level.Micro && rows >= PlannerSettings.SegmentRows / 4) Level.Day else level

  private def entries(manifest: ManifestFile): Long =
    ManifestIdentities.liveEntries(manifest).fold(manifest.length() / BytesPerEntryGuess)(_.toLong)

  /** An estimate for manifest lists without counts; it affects the grouping only. */
  private val BytesPerEntryGuess = 200L
}

/** Runs the tasks of a build that writes to a store. */
private[zonemap] trait SegmentTaskRunner {

  /** Runs every task; returns the written segments in the order of the tasks. */
  def run(tasks: Seq[SegmentTask], store: IndexStore): Seq[SegmentRef]
}
