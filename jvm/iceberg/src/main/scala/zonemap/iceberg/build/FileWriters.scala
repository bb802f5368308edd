// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.build

import java.util.Arrays

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{DataOperations, EnvironmentContext, ManifestFile, Snapshot, Table}
import org.apache.iceberg.util.SnapshotUtil

import zonemap.core.segment.Provenance
import zonemap.iceberg.convert.MappedNames

/**
 * Finds the evidence for the statistics of a data file in the summary of the snapshot that added the file.
 * Serializable.
 *
 * @param ofEngines the snapshots whose added files a query engine's Iceberg writer wrote
 * @param ofIngest the snapshots that a committer of append ingestion made
 */
private[zonemap] final class FileWriters private (ofEngines: SnapshotNumbers, ofIngest: SnapshotNumbers)
    extends Serializable {

  /**
   * @param manifest the manifest that lists the file
   * @param fileSequenceNumber that of the snapshot that added the file; null if the manifest has none
   */
  def provenanceOf(manifest: ManifestFile, fileSequenceNumber: java.lang.Long): Provenance =
    if (ofEngines.added(manifest, fileSequenceNumber)) Provenance.Engine
    else if (ofIngest.added(manifest, fileSequenceNumber)) Provenance.Valid
    else Provenance.Unknown
}

private[zonemap] object FileWriters {

  /** The writer of every file is unknown. */
  val Unknown: FileWriters = new FileWriters(SnapshotNumbers.of(Nil), SnapshotNumbers.of(Nil))

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
      .takeWhile(_.sequenceNumber() >= oldest)
      .toSeq
    // an appended file without field ids needs a name mapping, which its record does not state
    val appends = if (MappedNames.isMapped(table)) Nil else snapshots.filter(has(IngestKeys))
    new FileWriters(SnapshotNumbers.of(snapshots.filter(isOfEngine)), SnapshotNumbers.of(appends))
  }

  /**
   * Keys that the Iceberg writers of Spark, Flink and Kafka Connect add to the summary of each commit; imports lack
   * them.
   */
  private val WriterKeys = Seq("spark.app.id", "flink.job-id", "kafka.connect.commit-id")

  /** The key that each commit of append ingestion has (INGEST, the pointer and the state). */
  private val IngestKeys = Seq("zonemap.ingest.pointer")

  /** Engines whose rewrites of data files go through Iceberg's own writers. */
  private val Rewriters = Set("spark", "flink")

  private def has(keys: Seq[String])(snapshot: Snapshot): Boolean =
    Option(snapshot.summary()).exists(summary => keys.exists(summary.containsKey))

  private def isOfEngine(snapshot: Snapshot): Boolean =
    has(WriterKeys)(snapshot) ||
      (snapshot.operation() == DataOperations.REPLACE &&
        Option(snapshot.summary()).flatMap(s => Option(s.get(EnvironmentContext.ENGINE_NAME))).exists(Rewriters))
}

/**
 * Some snapshots of a table.
 *
 * @param sequenceNumbers their sequence numbers, ascending, without those of format version 1, which are all 0
 * @param ids their ids, ascending
 */
private final class SnapshotNumbers(sequenceNumbers: Array[Long], ids: Array[Long]) extends Serializable {

  /**
   * Whether one of the snapshots added a file of a manifest. Format version 1 does not number snapshots. There, the
   * snapshot that added the manifest added its files, unless the manifest keeps files of earlier ones.
   */
  def added(manifest: ManifestFile, fileSequenceNumber: java.lang.Long): Boolean =
    if (fileSequenceNumber != null && fileSequenceNumber.longValue > SnapshotNumbers.NotNumbered)
      Arrays.binarySearch(sequenceNumbers, fileSequenceNumber.longValue) >= 0
    else
      manifest.snapshotId() != null && manifest.existingFilesCount() != null &&
      manifest.existingFilesCount().intValue == 0 && Arrays.binarySearch(ids, manifest.snapshotId().longValue) >= 0
}

private object SnapshotNumbers {

  /** The sequence number of every snapshot of format version 1. */
  val NotNumbered = 0L

  def of(snapshots: Seq[Snapshot]): SnapshotNumbers =
    new SnapshotNumbers(
      snapshots.iterator.map(_.sequenceNumber()).filter(_ > NotNumbered).toArray.sorted,
      snapshots.iterator.map(_.snapshotId()).toArray.sorted)
}
