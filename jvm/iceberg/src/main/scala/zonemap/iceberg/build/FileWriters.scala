package zonemap.iceberg.build

import java.util.Arrays

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{DataOperations, EnvironmentContext, ManifestFile, Snapshot, SnapshotSummary, Table}
import org.apache.iceberg.util.SnapshotUtil

import zonemap.core.segment.Provenance
import zonemap.iceberg.convert.MappedNames

/**
 * Decides which kind of writer wrote a data file, by the sequence number of the snapshot that added the file.
 * Serializable.
 *
 * @param ofEngines the sequence numbers of snapshots whose added files a query engine's Iceberg writer wrote,
 *   ascending
 * @param ofImports the sequence numbers of snapshots that added existing files to the table, ascending
 * @param isMapped whether readers find columns of files without field ids by a name mapping
 */
private[zonemap] final class FileWriters(ofEngines: Array[Long], ofImports: Array[Long], isMapped: Boolean)
    extends Serializable {

  /** @param fileSequenceNumber that of the snapshot that added the file; null if the manifest has none */
  def provenanceOf(fileSequenceNumber: java.lang.Long): Provenance =
    if (isAmong(ofEngines, fileSequenceNumber)) Provenance.Engine
    else if (isMapped || isAmong(ofImports, fileSequenceNumber)) Provenance.Imported
    else Provenance.Unknown

  private def isAmong(numbers: Array[Long], number: java.lang.Long): Boolean =
    number != null && Arrays.binarySearch(numbers, number.longValue) >= 0
}

private[zonemap] object FileWriters {

  /** The writer of every file is unknown. */
  val Unknown: FileWriters = new FileWriters(Array.emptyLongArray, Array.emptyLongArray, isMapped = false)

  /**
   * The writers of the files of `manifests`, from the summaries of the retained snapshots. O(snapshots) since the
   * oldest of the manifests' files; the writer of a file that an expired snapshot added is unknown.
   *
   * @param snapshot the snapshot that lists the manifests
   */
  def of(table: Table, snapshot: Snapshot, manifests: Seq[ManifestFile]): FileWriters = {
    val oldest = manifests.iterator.map(_.minSequenceNumber()).minOption.getOrElse(Long.MaxValue)
    // the table may have expired the snapshot since it was read
    val snapshots = SnapshotUtil
      .ancestorsOf(snapshot.snapshotId(), id => if (id == snapshot.snapshotId()) snapshot else table.snapshot(id))
      .asScala
      .iterator
      .takeWhile(s => s.sequenceNumber() >= oldest && s.sequenceNumber() > NoSequenceNumber)
      .toSeq
    def numbers(isIncluded: Snapshot => Boolean) =
      snapshots.iterator.filter(isIncluded).map(_.sequenceNumber()).toArray.sorted
    new FileWriters(numbers(isOfEngine), numbers(isImport), MappedNames.isMapped(table))
  }

  /** The sequence number of every snapshot of format version 1. */
  private val NoSequenceNumber = 0L

  /** Keys that the writers of Spark and Flink add to the summary of each commit; imports lack them. */
  private val WriterKeys = Seq("spark.app.id", "flink.job-id")

  /** Engines whose rewrites of data files go through Iceberg's own writers. */
  private val Rewriters = Set("spark", "flink")

  /**
   * Whether an engine appended files that its own writer did not write, as `add_files`, `migrate` and `snapshot` do.
   * A cherry-picked snapshot lacks the writer's key too, so the writer of its files is unknown.
   */
  private def isImport(snapshot: Snapshot): Boolean =
    !isOfEngine(snapshot) && snapshot.operation() == DataOperations.APPEND && Option(snapshot.summary()).exists {
      summary =>
        !summary.containsKey(SnapshotSummary.SOURCE_SNAPSHOT_ID_PROP) &&
        Option(summary.get(EnvironmentContext.ENGINE_NAME)).exists(Rewriters)
    }

  private def isOfEngine(snapshot: Snapshot): Boolean =
    Option(snapshot.summary()).exists { summary =>
      WriterKeys.exists(summary.containsKey) ||
      (snapshot.operation() == DataOperations.REPLACE &&
        Option(summary.get(EnvironmentContext.ENGINE_NAME)).exists(Rewriters))
    }
}
