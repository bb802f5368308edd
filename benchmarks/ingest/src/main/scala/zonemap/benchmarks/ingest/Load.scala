// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.ingest

import java.util.concurrent.{ConcurrentHashMap, Executors, TimeUnit}
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.iceberg.{BaseTable, DataFile}

import zonemap.benchmarks.planning.Measure
import zonemap.benchmarks.strategies.Stats

/**
 * Writers that append for a while, each on a thread and with a client of its own.
 *
 * @param writers the number of writers
 * @param seconds how long each of them begins appends
 * @param pauseMillis how long a writer rests after an append; 0 for as fast as it can
 */
final case class Load(writers: Int, seconds: Int, pauseMillis: Long = 0)

/** The times of one run, by the path of the data file of each append. Thread-safe. */
final class Times {

  /** When the data file was written and the append began, in nanoseconds. */
  val begun = new ConcurrentHashMap[String, Long]

  /** When the writer could go on. */
  val accepted = new ConcurrentHashMap[String, Long]

  /** When queries could see the append. */
  val visible = new ConcurrentHashMap[String, Long]

  /** Appends that had to be repeated by the writer, because a commit failed after all attempts of Iceberg. */
  val failures = new AtomicLong

  /** Runs one append of a data file, and notes when it begins and ends. */
  def timed(file: DataFile)(append: => Unit): Unit = {
    begun.put(file.location(), System.nanoTime())
    append
    accepted.put(file.location(), System.nanoTime()): Unit
  }

  def millis(to: ConcurrentHashMap[String, Long]): Seq[Double] =
    to.asScala.iterator.map { case (path, at) => (at - begun.get(path)) / 1e6 }.toSeq
}

object Load {

  /**
   * Runs the writers.
   *
   * @param open makes the append of one writer, which returns when the append is accepted
   */
  def run(load: Load, open: Int => (BaseTable, DataFile => Unit)): Unit = {
    val pool = Executors.newFixedThreadPool(load.writers)
    val clients = (0 until load.writers).map(open)
    val end = System.nanoTime() + load.seconds * 1000000000L
    val running = clients.map { case (table, append) =>
      pool.submit((() => write(load, end, table, append)): Runnable)
    }
    pool.shutdown()
    running.foreach(_.get(load.seconds + 600L, TimeUnit.SECONDS)) // throws the failure of a writer
  }

  private def write(load: Load, end: Long, table: BaseTable, append: DataFile => Unit): Unit =
    while (System.nanoTime() < end) {
      append(Rows.write(table))
      if (load.pauseMillis > 0) Thread.sleep(load.pauseMillis)
    }

  /** The figures of a run, counted from the table. */
  def figures(
      way: String,
      catalog: BenchmarkCatalog,
      table: String,
      load: Load,
      times: Times,
      attempts: Long,
      commitMillis: Seq[Double],
      cpuMillis: Double): Map[String, Any] = {
    val (client, _) = catalog.client(table)
    val live = Using.resource(client.newScan().planFiles())(_.asScala.map(_.file().location()).toIndexedSeq)
    val isLive = live.toSet
    val last = times.visible.values().asScala.max
    val seconds = (last - times.begun.values().asScala.min) / 1e9
    val commits = client.snapshots().asScala.size
    val (acceptedMillis, visibleMillis) = (times.millis(times.accepted), times.millis(times.visible))
    Map(
      "way" -> way,
      "catalog" -> catalog.name,
      "writers" -> load.writers,
      "pauseMillis" -> load.pauseMillis,
      "appends" -> live.distinct.size,
      "seconds" -> seconds,
      "appendsPerSecond" -> live.distinct.size / seconds,
      "attempts" -> attempts,
      "commits" -> commits,
      "attemptsPerCommit" -> attempts.toDouble / commits,
      "failures" -> times.failures.get,
      "commitMillisP50" -> Measure.median(commitMillis),
      "commitMillisP99" -> Stats.quantile(commitMillis, 0.99),
      "acceptedMillisP50" -> Measure.median(acceptedMillis),
      "acceptedMillisP99" -> Stats.quantile(acceptedMillis, 0.99),
      "visibleMillisP50" -> Measure.median(visibleMillis),
      "visibleMillisP99" -> Stats.quantile(visibleMillis, 0.99),
      "cpuMillisAnAppend" -> cpuMillis / live.distinct.size,
      "snapshots" -> commits,
      "manifests" -> client.currentSnapshot().allManifests(client.io()).size(),
      "lost" -> times.accepted.keySet().asScala.count(!isLive(_)),
      "doubled" -> (live.size - live.distinct.size)
    )
  }
}
