package zonemap.ingest.commit

import java.time.Clock

import zonemap.ingest.table.IngestTarget

/**
 * The state of one table in a loop.
 *
 * @param problem the last failure, until a pass succeeds
 */
private[zonemap] final case class LoopStatus(
    table: String,
    lastPassMillis: Option[Long],
    results: Seq[PassResult],
    problem: Option[String])

/**
 * Commits several tables in the background, each on a daemon thread of its own, so that a table that fails or hangs
 * leaves the others alone. Two commits to one table are at least the interval apart, and commits take at most the share
 * of time that the duty cycle allows.
 *
 * @param tables the name of each table, and how it is loaded; loading is repeated after a failure
 */
private[zonemap] final class CommitLoop(
    tables: Seq[(String, () => IngestTarget)],
    settings: IngestSettings,
    clock: Clock)
    extends AutoCloseable {

  /** Starts the threads; a second call does nothing. */
  def start(): Unit = throw new UnsupportedOperationException(s"$tables $settings $clock")

  /** Rings the doorbell: the table is looked at as soon as its interval and duty cycle allow. */
  def ring(table: String): Unit = throw new UnsupportedOperationException(table)

  def status: Seq[LoopStatus] = throw new UnsupportedOperationException("status")

  /** Ends the threads after the passes that run; waits for them at most `timeoutMillis`. */
  def stop(timeoutMillis: Long): Boolean = throw new UnsupportedOperationException(s"$timeoutMillis")

  override def close(): Unit = stop(60 * 1000): Unit
}
