package zonemap.ingest.commit

import java.time.Clock
import java.util.concurrent.{CountDownLatch, Semaphore, TimeUnit}

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import zonemap.ingest.table.IngestTarget

/** The thread that commits one table. */
private[commit] final class TableLoop(
    name: String,
    load: () => IngestTarget,
    settings: IngestSettings,
    clock: Clock,
    passed: Seq[PassResult] => Unit) {
  import TableLoop._

  private val doorbell = new Semaphore(0)
  private val ended = new CountDownLatch(1)
  private val alarms = new Alarms(name, settings)
  private val pace = new CommitPace(settings)
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

  private def run(): Unit =
    try {
      var target = Option.empty[IngestTarget]
      while (!stopped) {
        target = turn(target)
        rest()
      }
      target.foreach(_.queue.close())
    } finally ended.countDown()

  /** One pass; after a failure the table is loaded again by the next turn. */
  private def turn(loaded: Option[IngestTarget]): Option[IngestTarget] = {
    val started = System.nanoTime()
    val target =
      try {
        val target = loaded.getOrElse(load())
        val results = new Committer(target, settings, clock).pass()
        last = LoopStatus(name, Some(clock.millis()), results, None)
        announce(results)
        alarms.check(results, target.queue, clock.millis())
        Some(target)
      } catch {
        case NonFatal(e) =>
          last = last.copy(problem = Some(e.toString))
          alarms.failed(e)
          None
        case e: LinkageError =>
          last = last.copy(problem = Some(e.toString))
          alarms.failed(e)
          None
      }
    pace.worked((System.nanoTime() - started) / 1000000, committed = last.results.exists(isCommit))
    target
  }

  private def announce(results: Seq[PassResult]): Unit =
    try passed(results)
    catch { case NonFatal(e) => log.warn(s"Cannot announce a commit to $name: $e") }

  private def isCommit(result: PassResult): Boolean = result.outcome.isInstanceOf[PassOutcome.Committed]

  /** Waits as long as the pace demands, and then for the doorbell or the time of the next poll. */
  private def rest(): Unit = {
    waitFor(pace.restMillis)
    if (!stopped) doorbell.tryAcquire(settings.pollMillis, TimeUnit.MILLISECONDS): Unit
    doorbell.drainPermits(): Unit
  }

  /** Waits without attention to the doorbell; a stop ends the wait. */
  private def waitFor(millis: Long): Unit = {
    val end = System.nanoTime() + millis * 1000000
    while (!stopped && System.nanoTime() < end)
      Thread.sleep(math.max(1, math.min(StopMillis, (end - System.nanoTime()) / 1000000)))
  }
}

private object TableLoop {
  private val log = LoggerFactory.getLogger("zonemap.ingest")
  private val StopMillis = 100L
}
