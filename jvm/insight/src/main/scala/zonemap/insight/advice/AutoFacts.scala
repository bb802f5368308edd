// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import org.apache.iceberg.BaseTable
import org.apache.spark.sql.internal.SQLConf
import org.slf4j.LoggerFactory

import zonemap.iceberg.registry.SeenTable
import zonemap.iceberg.upkeep.UpkeepProcess

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

  /**
   * Starts a turn for the table of a scan that a session observes, after enough scans, unless one waits or the last one
   * was a moment ago.
   */
  def observed(scan: ObservedScan): Unit = AutoFactsConf.read(SQLConf.get).foreach { budget =>
    val table = tables.computeIfAbsent(scan.tableUuid, _ => new OfTable)
    if (table.begin())
      process.index.tables.look(UUID.fromString(scan.tableUuid)).lastSeen match {
        case Some(seen) => start(seen, table, budget)
        case None       => table.end(0L)
      }
  }

  private def start(seen: SeenTable, of: OfTable, budget: FactBudget): Unit = {
    val table = new BaseTable(seen.operations, seen.name)
    process.facts.withRunner(table) { runner =>
      val started = System.nanoTime()
      try
        runner.foreach { reading =>
          table.refresh()
          of.choice.turn(process, table, seen.settings, newest, budget, spent, reading)
        }
      catch { case NonFatal(e) => log.warn(s"Cannot choose facts of ${seen.name}: $e") }
      finally of.end(System.nanoTime() - started)
    }
  }
}

private object AutoFacts {
  private val log = LoggerFactory.getLogger("zonemap.upkeep")

  /** A turn takes less than this share of a core, and there is at most one a minute. */
  private val MostShare = 0.01
  private val LeastPauseNanos = 60L * 1000 * 1000 * 1000

  /** What the driver knows of the facts of one table, and when its next turn is due. */
  private final class OfTable {
    val choice = new FactChoice
    private var scans = 0
    private var isWaiting = false
    private var dueNanos = System.nanoTime()

    def begin(): Boolean = synchronized {
      scans += 1
      val begins = scans >= FactChoice.LeastScans && !isWaiting && System.nanoTime() - dueNanos >= 0
      if (begins) {
        scans = 0
        isWaiting = true
      }
      begins
    }

    def end(tookNanos: Long): Unit = synchronized {
      isWaiting = false
      dueNanos = System.nanoTime() + (tookNanos / MostShare).toLong.max(LeastPauseNanos)
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
  private val HourNanos = 3600L * 1000 * 1000 * 1000
}
