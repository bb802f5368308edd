package zonemap.iceberg.build

import java.util.Arrays

import org.apache.iceberg.{DataOperations, EnvironmentContext, ManifestFile, Snapshot, Table}

import zonemap.core.segment.Provenance
import zonemap.iceberg.index.{IndexRegistry, TableFacts}

/**
 * Which data files a query engine's Iceberg writer wrote, by the sequence numbers of the snapshots that added them.
 * Serializable.
 *
 * @param ofEngines sequence numbers of snapshots whose added files an engine wrote, ascending
 * @param isMapped whether readers find columns of files without field ids by a name mapping
 */
private[zonemap] final class FileWriters(ofEngines: Array[Long], isMapped: Boolean) extends Serializable {

  /** @param fileSequenceNumber of the snapshot that added the file, null if the manifest has none */
  def provenanceOf(fileSequenceNumber: java.lang.Long): Provenance =
    if (fileSequenceNumber != null && Arrays.binarySearch(ofEngines, fileSequenceNumber.longValue) >= 0)
      Provenance.Engine
    else if (isMapped) Provenance.Imported
    else Provenance.Unknown
}

private[zonemap] object FileWriters {

  /** Of no file is the writer known. */
  val Unknown: FileWriters = new FileWriters(Array.emptyLongArray, isMapped = false)

  /**
   * The writers of the files of `manifests`, from the summaries of the snapshots that are retained. O(snapshots) since the
   * oldest of the manifests' files; expired snapshots leave the writer unknown.
   *
   * @param snapshot that lists the manifests
   */
  def of(table: Table, snapshot: Snapshot, manifests: Seq[ManifestFile]): FileWriters = {
    val oldest = manifests.iterator.map(_.minSequenceNumber()).minOption.getOrElse(Long.MaxValue)
    val ofEngines = IndexRegistry
      .lineage(table, snapshot)
      .flatMap(id => Option(table.snapshot(id)))
      .takeWhile(s => s.sequenceNumber() >= oldest && s.sequenceNumber() > NoSequenceNumber)
      .filter(isOfEngine)
      .map(_.sequenceNumber())
      .toArray
    Arrays.sort(ofEngines)
    new FileWriters(ofEngines, TableFacts.hasNameMapping(table))
  }

  /** Snapshots of format version 1 have none. */
  private val NoSequenceNumber = 0L

  /** Keys that the writers of Spark and of Flink put into the summary of what they commit; imports lack them. */
  private val WriterKeys = Seq("spark.app.id", "flink.job-id")

  /** Engines whose rewrites of data files go through Iceberg's own writers. */
  private val Rewriters = Set("spark", "flink")

  private def isOfEngine(snapshot: Snapshot): Boolean =
    Option(snapshot.summary()).exists { summary =>
      WriterKeys.exists(summary.containsKey) ||
      (snapshot.operation() == DataOperations.REPLACE &&
        Option(summary.get(EnvironmentContext.ENGINE_NAME)).exists(Rewriters))
    }
}
