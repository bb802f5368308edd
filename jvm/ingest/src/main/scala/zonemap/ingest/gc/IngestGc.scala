package zonemap.ingest.gc

import java.time.Clock

import zonemap.ingest.table.IngestTarget

/** A file that nothing refers to, and the reason. */
private[zonemap] final case class IngestGarbage(location: String, sizeBytes: Long, reason: String)

/**
 * Finds and deletes data files that neither a pending or quarantined record nor the table refers to, and state files
 * that are no longer needed. Nothing else of the ingestion deletes a data file.
 */
private[zonemap] final class IngestGc(target: IngestTarget, clock: Clock) {

  /**
   * @param minAgeMillis files younger than this are retained
   * @throws UnsupportedOperationException if the table's `FileIO` cannot list
   * @throws IllegalArgumentException if a pending record is older than half of `minAgeMillis`
   */
  def run(minAgeMillis: Long, dryRun: Boolean): Seq[IngestGarbage] =
    throw new UnsupportedOperationException(s"$target $clock $minAgeMillis $dryRun")

  /** Of candidates that another procedure found, the files that are not pending and not in quarantine. */
  def withoutPending(candidates: Seq[String]): Seq[String] = throw new UnsupportedOperationException(s"$candidates")
}
