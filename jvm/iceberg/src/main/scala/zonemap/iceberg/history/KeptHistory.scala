package zonemap.iceberg.history

import java.util.ArrayList
import java.util.concurrent.{ArrayBlockingQueue, ConcurrentHashMap, CountDownLatch, TimeUnit}

import scala.jdk.CollectionConverters._

import org.slf4j.LoggerFactory

import zonemap.iceberg.report.{PlanRecord, Survivable}
import zonemap.iceberg.settings.HistorySettings
import zonemap.iceberg.store.PrivateFolder

/**
 * Keeps the scans that ran in a process in local folders, for queries whose settings name one. A query only adds its
 * scan to a queue, and a background thread writes. If the thread is too slow or a folder cannot be written, scans are
 * dropped. Thread-safe.
 *
 * @param delayMillis the time after which a scan is written, so that the steps that a run counts are written too
 */
private[zonemap] final class KeptHistory(delayMillis: Long = 2000) {
  import KeptHistory._

  private val process = PrivateFolder.randomName()
  private val queue = new ArrayBlockingQueue[Waiting](MostWaiting)
  private val folders = new ConcurrentHashMap[String, HistoryFolder]
  private val ending = new CountDownLatch(1)
  @volatile private var isWarned = false

  private lazy val writer: Thread = {
    val thread = new Thread(() => write(), "zonemap-history")
    thread.setDaemon(true)
    thread.start()
    Runtime.getRuntime.addShutdownHook(new Thread(() => end()))
    thread
  }

  /** Adds a scan to the queue of its folder, if the settings name one. */
  def add(settings: HistorySettings, record: PlanRecord): Unit =
    settings.dir.foreach { dir =>
      try {
        writer
        queue.offer(Waiting(dir, KeptScan(settings.application, record))): Unit
      } catch { case Survivable(e) => warn(e) }
    }

  /** The scans of other processes in the folder that the settings name. */
  def ofOthers(settings: HistorySettings): Seq[KeptScan] =
    settings.dir.toSeq.flatMap { dir =>
      try folder(dir).ofOthers
      catch { case Survivable(e) => warn(e); Nil }
    }

  /** Writes what waits, and ends the thread; a folder that does not answer delays the end of the process briefly. */
  def end(): Unit = {
    ending.countDown()
    queue.offer(Waiting("", null)): Unit
    writer.join(MostEndMillis)
  }

  private def write(): Unit = {
    val batch = new ArrayList[Waiting]
    while (ending.getCount > 0 || !queue.isEmpty) {
      batch.add(queue.take())
      ending.await(delayMillis, TimeUnit.MILLISECONDS): Unit
      queue.drainTo(batch): Unit
      for ((dir, waiting) <- batch.asScala.toSeq.filter(_.scan != null).groupBy(_.dir))
        try waiting.map(_.scan).grouped(MostTogether).foreach(folder(dir).append)
        catch { case Survivable(e) => warn(e) }
      batch.clear()
    }
  }

  private def folder(dir: String): HistoryFolder = folders.computeIfAbsent(dir, new HistoryFolder(_, process))

  private def warn(e: Throwable): Unit =
    if (!isWarned) {
      isWarned = true
      log.warn(s"Cannot keep the history of planned scans in spark.sql.zonemap.history.dir: $e. Queries go on.")
    }
}

private object KeptHistory {
  private val log = LoggerFactory.getLogger("zonemap.history")
  private val MostWaiting = 4096
  private val MostEndMillis = 2000L

  /** Scans between two looks at the size of a file. */
  private val MostTogether = 64

  private final case class Waiting(dir: String, scan: KeptScan)
}
