// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import java.util.UUID
import java.util.concurrent.{ConcurrentHashMap, TimeUnit}
import java.util.concurrent.atomic.AtomicReference

import scala.util.control.NonFatal

import org.apache.iceberg.BaseTable
import org.apache.spark.sql.internal.SQLConf
import org.slf4j.LoggerFactory

import zonemap.iceberg.registry.SeenTable
import zonemap.iceberg.upkeep.UpkeepProcess
import zonemap.spark.conf.MalformedConfException

/**
 * Starts turns of [[FactChoice]] for tables whose scans are observed. A turn runs on the thread that builds facts for new
 * data files, so that no query and no commit waits for it. Thread-safe.
 *
 * @param newest the observed scans of this driver, the newest first
 */
private[zonemap] final class AutoFacts(process: UpkeepProcess, newest: => Seq[ObservedScan]) {
  import AutoFacts._

  private val spent = new HourlyTime(() => System.nanoTime())
  private val tables = new ConcurrentHashMap[String, OfTable]
  private val warned = new AtomicReference[String]

  /**
   * Starts a turn for the table of a scan that a session observes, after enough scans, unless one waits or the last one
   * was a moment ago.
   */
  def observed(scan: ObservedScan): Unit = budget.foreach { allowed =>
    val table = tables.computeIfAbsent(scan.tableUuid, _ => new OfTable)
    if (table.begin())
      process.index.tables.look(UUID.fromString(scan.tableUuid)).lastSeen match {
        case Some(seen) => start(seen, table, allowed)
        case None       => table.end(0L, LeastPauseNanos)
      }
  }

  /** The budget of the active session; a conf that is malformed is logged once, and chooses no facts. */
  private def budget: Option[FactBudget] =
    try AutoFactsConf.read(SQLConf.get)
    catch {
      case e: MalformedConfException =>
        if (warned.getAndSet(e.getMessage) != e.getMessage) log.warn(s"Zonemap: no facts are chosen. ${e.getMessage}")
        None
    }

  private def start(seen: SeenTable, of: OfTable, budget: FactBudget): Unit = {
    val table = new BaseTable(seen.operations, seen.name)
    process.facts.withRunner(table) { runner =>
      val started = System.nanoTime()
      var leastPause = FailedPauseNanos
      try
        runner.foreach { reading =>
          table.refresh()
          of.choice.turn(process, table, seen.settings, newest, of.observed, budget, spent, reading)
          leastPause = LeastPauseNanos
        }
      catch { case NonFatal(e) => log.warn(s"Cannot choose facts of ${seen.name}: $e") }
      finally of.end(System.nanoTime() - started, leastPause)
    }
  }
}

private object AutoFacts {
  private val log = LoggerFactory.getLogger("zonemap.upkeep")

  /** A turn takes less than this share of a core, and there is at most one a minute. */
  private val MostShare = 0.01
  private val LeastPauseNanos = TimeUnit.MINUTES.toNanos(1)

  /** The pause after a turn that failed, as each does for a table whose store cannot be written. */
  private val FailedPauseNanos = TimeUnit.HOURS.toNanos(1)

  /** What the driver knows of the facts of one table, and when its next turn is due. */
  private final class OfTable {
    val choice = new FactChoice
    private var scans = 0
    private var counted = 0L
    private var isWaiting = false
    private var dueNanos = System.nanoTime()

    def observed: Long = synchronized(counted)

    def begin(): Boolean = synchronized {
      scans += 1
      counted += 1
      val begins = scans >= FactChoice.LeastScans && !isWaiting && System.nanoTime() - dueNanos >= 0
      if (begins) {
        scans = 0
        isWaiting = true
      }
      begins
    }

    def end(tookNanos: Long, leastPauseNanos: Long): Unit = synchronized {
      isWaiting = false
      dueNanos = System.nanoTime() + (tookNanos / MostShare).toLong.max(leastPauseNanos)
    }
  }
}

/** The time that work has taken within the last hour. Thread-safe. */
private[advice] final class HourlyTime(nowNanos: () => Long) {
  private var turns = Vector.empty[(Long, Double)]

  /** Runs work and counts its time; returns its result and its seconds. */
  def count[A](work: => A): (A, Double) = {
    val started = nowNanos()
    def seconds = (nowNanos() - started) / 1e9
    try {
      val result = work
      (result, seconds)
    } finally synchronized { turns = recent :+ (started -> seconds) }
  }

  /** The seconds that are left of so many in an hour. */
  def left(most: Int): Double = synchronized {
    turns = recent
    most - turns.map(_._2).sum
  }

  private def recent = turns.filter { case (at, _) => nowNanos() - at < HourlyTime.HourNanos }
}

private object HourlyTime {
  private val HourNanos = TimeUnit.HOURS.toNanos(1)
}
