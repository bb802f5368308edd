// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import java.time.Clock
import java.util.concurrent.{ConcurrentHashMap, ThreadLocalRandom}

import zonemap.ingest.record.IngestRecord
import zonemap.ingest.table.{IcebergIngestCatalog, IngestTarget}

/**
 * Commits the pending records of one table. Any number of committers may run on the same table, in any number of
 * processes: a commit of a committer that started from an older pointer is refused.
 *
 * Between two passes it holds the last status that it wrote and the lanes to look at last, neither of which any
 * decision on a record uses. Thread-safe.
 *
 * @param announce called for each commit as soon as it has landed, before the pass ends
 */
private[zonemap] final class Committer(
    target: IngestTarget,
    settings: IngestSettings,
    clock: Clock,
    announce: LandedCommit => Unit = _ => ()) {
  import Committer._

  private val catalog = new IcebergIngestCatalog(target.name, target.operations)

  /** For each branch, the lanes whose next record could not be committed, and since when they are looked at last. */
  private val waiting = new ConcurrentHashMap[String, (Map[String, Long], Long)]
  @volatile private var reported = Option.empty[(Seq[PassResult], Long)]
  private val environment = new PassEnvironment {
    override def nowMillis(): Long = clock.millis()
    override def pause(attempts: Int): Unit = Thread.sleep(jitter(attempts))
  }

  /**
   * One pass over the table: one result for `main`, then one for each other branch with pending records.
   *
   * A branch gets at most one commit. Failures of the queue, of the store and of the catalog are thrown; nothing is
   * lost then, and the next pass goes on.
   */
  def pass(): Seq[PassResult] = {
    val main = run(IngestRecord.MainBranch)
    val results = main.result +: (main.otherBranches - IngestRecord.MainBranch).toSeq.sorted.map(run(_).result)
    report(results)
    results
  }

  /** Writes the status if it changed or is old, because most passes of a loop find nothing. */
  private def report(results: Seq[PassResult]): Unit = {
    val now = clock.millis()
    val isKnown = reported.exists { case (before, at) => before == results && now - at < StatusMillis }
    if (!isKnown) {
      StatusFile.write(target.files, results, settings, now)
      reported = Some((results, now))
    }
  }

  private def run(branch: String): PassState.Done = {
    val now = clock.millis()
    val (deferred, since) =
      Option(waiting.get(branch)).filter(now - _._2 < DeferMillis).getOrElse((Map.empty[String, Long], now))
    val done =
      new CommitPass(branch, catalog, target.queue, target.files, settings, environment, deferred, announce).run()
    waiting.put(branch, (done.waiting, since))
    done
  }

  /**
   * Passes until nothing is left that can be committed, or `timeoutMillis` are over.
   *
   * @return one result for each commit; then, from the last pass, the result of each branch without a commit and of each
   *   branch with refused or held records
   */
  def drain(timeoutMillis: Long): Seq[PassResult] = {
    val end = clock.millis() + timeoutMillis
    var last = pass()
    var commits = last.filter(_.isCommit)
    while (last.exists(goesOn) && clock.millis() < end) {
      last = pass()
      commits ++= last.filter(_.isCommit)
    }
    val committed = commits.map(_.branch).toSet
    commits ++ last.filterNot(_.isCommit).filterNot { result =>
      committed(result.branch) && result.outcome == PassOutcome.Idle && result.refused.isEmpty && result.held.isEmpty
    }
  }

  private def goesOn(result: PassResult): Boolean = result.outcome match {
    case _: PassOutcome.Committed | PassOutcome.Fenced => true
    case PassOutcome.Idle                              => result.more
    case _                                             => false
  }
}

private object Committer {
  private val StatusMillis = 20000L

  /** After this time, lanes that wait are looked at in turn with the others again. */
  private val DeferMillis = 60000L
  private val FirstPauseMillis = 100L
  private val MaxPauseMillis = 5000L

  /** A random pause that grows with the attempts, so that committers that conflict part. */
  private def jitter(attempts: Int): Long = {
    val most = math.min(MaxPauseMillis, FirstPauseMillis << math.min(attempts, 10))
    ThreadLocalRandom.current().nextLong(FirstPauseMillis / 2, most)
  }
}
