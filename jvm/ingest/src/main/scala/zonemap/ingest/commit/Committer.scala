package zonemap.ingest.commit

import java.time.Clock

import zonemap.ingest.table.IngestTarget

/**
 * Commits the pending records of one table. Any number of committers may run on the same table, in any number of
 * processes: a commit of a committer that started from an older pointer is refused.
 */
private[zonemap] final class Committer(target: IngestTarget, settings: IngestSettings, clock: Clock) {

  /**
   * One pass over the table: one result for `main`, then one for each other branch with pending records.
   *
   * A branch gets at most one commit. Failures of the queue, of the store and of the catalog are thrown; nothing is
   * lost then, and the next pass goes on.
   */
  def pass(): Seq[PassResult] = throw new UnsupportedOperationException(s"$target $settings $clock")

  /** Passes until nothing is left that can be committed, or `timeoutMillis` are over; the result of the last pass. */
  def drain(timeoutMillis: Long): Seq[PassResult] = throw new UnsupportedOperationException(s"$timeoutMillis")
}
