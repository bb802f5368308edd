// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.loop

import java.time.Clock

import zonemap.ingest.commit.{IngestSettings, LandedCommit, PassResult}
import zonemap.ingest.table.IngestTarget

/**
 * The state of one table in a loop.
 *
 * @param lastPassMillis when the last pass ended without an exception
 * @param results those of the last pass
 * @param problem the last failure, until a pass succeeds
 * @param figures those of the last pass that ended without an exception
 * @param isEnded whether the loop has ended without being stopped; `problem` is the reason
 */
private[zonemap] final case class LoopStatus(
    table: String,
    lastPassMillis: Option[Long],
    results: Seq[PassResult],
    problem: Option[String],
    figures: LoopFigures = LoopFigures(),
    isEnded: Boolean = false) {

  /** `running`, or why the loop fails or has ended. */
  def text: String = problem.fold("running")(why => if (isEnded) s"ended: $why" else s"failing: $why")
}

/**
 * Commits several tables in the background, each on a daemon thread of its own, so that a table that fails or hangs
 * leaves the others alone. Two commits to one table are at least the interval apart, unless many records arrive before
 * it is over, and commits take at most the share of time that the duty cycle allows. Thread-safe.
 *
 * @param tables the name of each table, and how it is loaded; loading is repeated after a failure
 * @param committed called for each commit as soon as it has landed, with the name of the table in its catalog. Iceberg's
 *   own event comes before a commit of a transaction; whoever indexes snapshots can start here
 * @param tidy called about once an hour between two passes, to delete files of the ingest root that nothing needs
 */
private[zonemap] final class CommitLoop(
    tables: Seq[(String, () => IngestTarget)],
    settings: IngestSettings,
    clock: Clock,
    committed: (String, LandedCommit) => Unit = (_, _) => (),
    tidy: IngestTarget => Unit = _ => ())
    extends AutoCloseable {
  private val workers =
    tables.map { case (name, load) => name -> new TableLoop(name, load, settings, clock, committed, tidy) }.toMap

  /** Starts the threads; a second call does nothing. */
  def start(): Unit = workers.values.foreach(_.start())

  /** Rings the doorbell: the table is looked at as soon as its interval and duty cycle allow. */
  def ring(table: String): Unit = workers.get(table).foreach(_.ring())

  def status: Seq[LoopStatus] = tables.map { case (name, _) => workers(name).status }

  /**
   * Ends the threads after the passes that run.
   *
   * @return `false` if a pass still ran after `timeoutMillis`
   */
  def stop(timeoutMillis: Long): Boolean = {
    val end = System.nanoTime() + timeoutMillis * 1000000
    workers.values.foreach(_.requestStop())
    workers.values.forall(_.join(math.max(1, (end - System.nanoTime()) / 1000000)))
  }

  override def close(): Unit = stop(CommitLoop.CloseMillis): Unit
}

private object CommitLoop {
  private val CloseMillis = 60000L
}
