// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.loop

import java.time.Clock
import java.util.concurrent.{CountDownLatch, Semaphore, TimeUnit}

import org.slf4j.LoggerFactory

import zonemap.iceberg.report.Survivable
import zonemap.ingest.commit.{Alarms, Committer, IngestSettings, LandedCommit, PassOutcome, PassResult}
import zonemap.ingest.queue.{CommitQueue, PollLimits}
import zonemap.ingest.record.ShortText
import zonemap.ingest.table.IngestTarget

/** The thread that commits one table. */
private[ingest] final class TableLoop(
    name: String,
    load: () => IngestTarget,
    settings: IngestSettings,
    clock: Clock,
    committed: (String, LandedCommit) => Unit,
    tidy: IngestTarget => Unit) {
  import TableLoop._

  private val doorbell = new Semaphore(0)
  private val ended = new CountDownLatch(1)
  private val alarms = new Alarms(name, settings)
  private val pace = new CommitPace(settings)
  private val waiting = new CommitRest(settings, pace, () => stopped)
  private val meter = new LoopMeter
  private var tidiedAtNanos = System.nanoTime()
  @volatile private var stopped = false
  @volatile private var last = LoopStatus(name, None, Nil, None)
  private val thread = {
    val thread = new Thread(() => run(), s"zonemap-ingest-$name")
    thread.setDaemon(true)
    thread
  }

  def start(): Unit = synchronized {
    if (thread.getState == Thread.State.NEW && !stopped) thread.start()
  }

  def ring(): Unit = doorbell.release()

  def status: LoopStatus = last

  def requestStop(): Unit = synchronized {
    stopped = true
    if (thread.getState == Thread.State.NEW) ended.countDown()
    ring()
  }

  def join(timeoutMillis: Long): Boolean = ended.await(timeoutMillis, TimeUnit.MILLISECONDS)

  /** An interruption, such as one by a library that the pass calls, does not end the loop: only a stop does. */
  private def run(): Unit = {
    var opened = Option.empty[Opened]
    try
      while (!stopped)
        try {
          opened = turn(opened)
          rest(opened)
        } catch {
          case e: InterruptedException if !stopped =>
            failed(e, opened)
            opened = None
        }
    catch {
      case e: Throwable =>
        last = last.copy(results = Nil, problem = Some(ShortText.of(e.toString)), isEnded = true)
        log.error(s"The committer of '$name' has ended. Start it again after the cause is removed.", e)
        throw e
    } finally {
      ended.countDown()
      opened.foreach(o => close(o.target))
    }
  }

  private def failed(error: Throwable, opened: Option[Opened]): Unit = {
    last = last.copy(results = Nil, problem = Some(ShortText.of(error.toString)))
    alarms.failed(error)
    opened.foreach(o => close(o.target))
  }

  /** A queue that fails to close, also by an interruption, does not end the loop. */
  private def close(target: IngestTarget): Unit =
    try target.close()
    catch {
      case Survivable(e)           => alarms.closeFailed(e)
      case e: InterruptedException => alarms.closeFailed(e)
    }

  /** The result of the work; the target is closed if the work fails or is interrupted. */
  private def closedOnFailure[A](target: IngestTarget)(work: => A): A =
    try work
    catch {
      case e: Throwable =>
        close(target)
        throw e
    }

  /** One pass; after a failure the table is loaded again by the next turn. */
  private def turn(before: Option[Opened]): Option[Opened] = {
    val started = System.nanoTime()
    var current = before
    val after =
      try {
        current = before.filterNot(isOutdated)
        Some(pass(current))
      } catch {
        case Survivable(e) =>
          failed(e, current)
          None
      }
    val millis = (System.nanoTime() - started) / 1000000
    pace.worked(millis, if (after.isEmpty) Some(millis) else commitMillis(millis))
    after
  }

  /** The part of a pass that its commits took; a commit without a known end may have taken the whole pass. */
  private def commitMillis(passMillis: Long): Option[Long] = last.results
    .map(_.outcome)
    .collect {
      case commit: PassOutcome.Committed                  => commit.millis
      case PassOutcome.Fenced | _: PassOutcome.Unresolved => passMillis
    }
    .reduceOption(_ + _)

  /** After a failure, a table that this pass has opened is closed; the caller closes one that was open before. */
  private def pass(before: Option[Opened]): Opened = before match {
    case Some(opened) => passOver(opened)
    case None =>
      val opened = open()
      closedOnFailure(opened.target)(passOver(opened))
  }

  private def passOver(opened: Opened): Opened = {
    val results = opened.committer.pass()
    val now = clock.millis()
    val stats = if (results.exists(mayWait)) Some(opened.target.queue.stats()) else None
    last = LoopStatus(name, Some(now), results, None, meter.measure(results, stats, opened.target, now))
    alarms.check(results, stats.flatMap(_.oldestMillis), now)
    tidyAtTimes(opened.target)
    opened
  }

  /** A failure does not end the pass: its commits have landed, and the next hour tries again. */
  private def tidyAtTimes(target: IngestTarget): Unit =
    if (System.nanoTime() - tidiedAtNanos >= settings.tidyMillis * 1000000) {
      tidiedAtNanos = System.nanoTime()
      try tidy(target)
      catch { case Survivable(e) => log.warn(s"Cannot delete old files of the ingest root of '$name': $e") }
    }

  /** Whether records may be left in the queue: a pass that is paused or stopped does not look. */
  private def mayWait(result: PassResult): Boolean = result.pending > 0 || (result.outcome match {
    case _: PassOutcome.Paused | _: PassOutcome.Stopped => true
    case _                                              => false
  })

  /** Whether the table must be loaded again; its target is closed then. */
  private def isOutdated(opened: Opened): Boolean = {
    val isOutdated = opened.target.outdated.isDefined
    if (isOutdated) close(opened.target)
    isOutdated
  }

  private def open(): Opened = {
    val target = load()
    closedOnFailure(target) {
      target.warning.foreach(alarms.warnOf)
      new Opened(target, new Committer(target, settings, clock, committed(target.name, _)))
    }
  }

  /**
   * Waits as long as the pace demands, and, unless the last pass has committed, for the doorbell or the time of the next
   * poll: writers of other processes cannot ring, and the next commit would be late by the time of a poll.
   */
  private def rest(opened: Option[Opened]): Unit = {
    waiting.rest(opened.map(_.target.queue), last.results.map(_.pending).sum)
    if (!stopped && !last.results.exists(_.isCommit))
      doorbell.tryAcquire(settings.pollMillis, TimeUnit.MILLISECONDS): Unit
    doorbell.drainPermits(): Unit
  }
}

private object TableLoop {
  private val log = LoggerFactory.getLogger("zonemap.ingest")

  private final class Opened(val target: IngestTarget, val committer: Committer)
}

/**
 * The wait between two commits of a loop, in which the queue is read ahead: the next pass then reads only what arrives
 * at the end of the wait, and the wait ends early if the queue fills. Not thread-safe.
 */
private[ingest] final class CommitRest(settings: IngestSettings, pace: CommitPace, isStopped: () => Boolean) {
  import CommitRest._

  /**
   * Waits as long as the pace demands, without attention to the doorbell; a stop ends the wait.
   *
   * @param leftOver the records that the last pass left in the queue, which make no commit urgent
   */
  def rest(queue: Option[CommitQueue], leftOver: Int): Unit = {
    val started = System.nanoTime()
    def left(arrived: Int): Long = pace.restMillis(arrived) - millisSince(started)
    var arrived = 0
    var longest = LeastMillis
    while (!isStopped() && queue.isDefined && left(arrived) > 2 * longest) {
      waitFor(math.min(settings.pollMillis, left(arrived) / 2))
      val looked = System.nanoTime()
      if (!isStopped()) arrived = queue.flatMap(readAhead).getOrElse(0) - leftOver
      longest = math.max(longest, millisSince(looked))
    }
    waitFor(left(arrived))
  }

  /** The pending records. A queue that cannot be read fails the next pass, which reports it, as does short memory. */
  private def readAhead(queue: CommitQueue): Option[Int] =
    try queue.readAhead(PollLimits(settings.maxRecordsPerCommit, settings.maxBytesPerCommit))
    catch { case Survivable(_) => None }

  private def waitFor(millis: Long): Unit = {
    val end = System.nanoTime() + millis * 1000000
    while (!isStopped() && System.nanoTime() < end)
      Thread.sleep(math.max(1, math.min(StopMillis, (end - System.nanoTime()) / 1000000)))
  }
}

private object CommitRest {

  /** The queue is not read ahead for a rest of less than twice this time. */
  private val LeastMillis = 50L
  private val StopMillis = 100L

  private def millisSince(nanos: Long): Long = (System.nanoTime() - nanos) / 1000000
}
