// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.commit

import java.time.Clock
import java.util.Locale

import zonemap.iceberg.report.Survivable
import zonemap.ingest.admin.{IngestAdmin, IngestStatus}
import zonemap.ingest.commit.IngestSettings
import zonemap.ingest.gc.IngestGc
import zonemap.ingest.loop.{CommitLoop, LoopStatus}
import zonemap.ingest.record.ShortText
import zonemap.ingest.table.IngestTarget

/**
 * The committer of one table, which is started again when it has ended, and the line that tells its state. One thread
 * calls `look` and `stop`; `status` is for any thread.
 *
 * @param name the table's name in SQL
 * @param open opens the queue of the table; it is repeated after a failure, so the table need not exist yet
 * @param report called with each line that differs from the one before
 */
private[commit] final class CommittedTable(
    name: String,
    open: () => IngestTarget,
    settings: IngestSettings,
    report: String => Unit) {
  private val clock = Clock.systemUTC()
  @volatile private var loop = started()
  private var reported = ""

  /** The queue that `look` reads. It is used again, because a catalog may make a client of its store for each table. */
  private var seen = Option.empty[IngestTarget]

  def status: Option[LoopStatus] = loop.status.headOption

  /** Reports the state if it has changed. */
  def look(): Unit = {
    val line = s"$name: ${text()}"
    if (line != reported) report(line)
    reported = line
    if (status.exists(_.isEnded)) loop = started()
  }

  /** Lets the committer end after the pass that it makes; does not wait. */
  def requestStop(): Unit = loop.stop(0): Unit

  /** Waits until the committer has ended; the last line tells what it has committed. */
  def awaitStop(timeoutMillis: Long): Unit = {
    loop.stop(timeoutMillis): Unit
    look()
    forget()
  }

  private def started(): CommitLoop = {
    val next = new CommitLoop(Seq(name -> open), settings, clock, tidy = new IngestGc(_, clock).tidy())
    next.start()
    next
  }

  private def text(): String =
    try {
      if (seen.exists(_.outdated.isDefined)) forget()
      val target = seen.getOrElse(open())
      seen = Some(target)
      CommittedTable.text(new IngestAdmin(target, settings, clock).status(), status)
    } catch {
      case Survivable(e) =>
        forget()
        ShortText.of(Option(e.getMessage).getOrElse(e.toString).linesIterator.nextOption().mkString)
    }

  private def forget(): Unit = {
    val before = seen
    seen = None
    try before.foreach(_.close())
    catch { case Survivable(_) => () }
  }
}

private object CommittedTable {
  private def text(found: IngestStatus, loop: Option[LoopStatus]): String = {
    val counts = "%,d records committed, %,d rows; %,d pending, %,d quarantined".formatLocal(
      Locale.ROOT,
      found.committedRecords,
      found.committedRows,
      found.pendingRecords,
      found.quarantined)
    (Seq(counts) ++ loop.filter(_.problem.nonEmpty).map(_.text) ++ Seq(found.problem).filter(_.nonEmpty) ++
      found.paused.filter(_.nonEmpty).map(reason => s"paused: $reason")).mkString("; ")
  }
}
