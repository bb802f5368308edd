// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.metrics

import java.lang.ref.WeakReference

import com.codahale.metrics.{Gauge, MetricRegistry}
import org.apache.spark.SparkContext

import zonemap.iceberg.report.{PlanListener, PlanMode, PlanReport, StockReason}
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * The metrics of zonemap in Spark's metrics system: the scans that ran in a driver and what its index occupies. Sinks such as
 * JMX, CSV and Prometheus show them under the source `zonemap` of the driver. Thread-safe.
 *
 * Counters count since the process started, also across Spark applications.
 *
 * @param parts add the metrics of parts that the planner does not know
 */
private[zonemap] final class DriverMetrics(process: UpkeepProcess, parts: Seq[MetricRegistry => Unit])
    extends PlanListener {
  private val metrics = new MetricRegistry
  private val exact = metrics.counter("plans.exact")
  private val hybrid = metrics.counter("plans.hybrid")
  private val stock = metrics.counter("plans.stock")
  private val stockByReason = StockReason.catalogue.map { case (code, _) =>
    code -> metrics.counter(s"plans.stock.$code")
  }.toMap
  private val considered = metrics.counter("files.considered")
  private val planned = metrics.counter("files.planned")
  private val micros = metrics.histogram("planningMicros")

  @volatile private var registeredWith = new WeakReference[SparkContext](null)

  gauge("shadowMismatches")(process.index.planLog.shadowMismatches)
  gauge("index.residentBytes")(process.index.tables.residentBytes)
  gauge("index.maxBytes")(process.index.caps.hotMaxBytes)
  gauge("index.spilledBytes")(process.index.access.spill.totalBytes)
  gauge("index.tables")(process.index.tables.known.size.toLong)
  gauge("cold.residentBytes")(process.index.access.cold.residentBytes)
  gauge("upkeep.waiting")(process.upkeep.waiting.size.toLong)
  gauge("upkeep.oldestWaitingMillis")(DriverMetrics.ageOf(process.upkeep.waiting))
  gauge("upkeep.cpuMillis")(process.upkeep.cpuNanos / 1000000)
  gauge("upkeep.failures")(process.upkeep.failures)
  parts.foreach(_.apply(metrics))
  process.index.planLog.listen(this)

  /** Adds the metrics to the metrics system of an application, if they are not there yet. */
  def registerWith(context: SparkContext): Unit =
    if (registeredWith.get ne context) synchronized {
      if (registeredWith.get ne context) {
        MetricsSystem.register("zonemap", metrics)
        registeredWith = new WeakReference(context)
      }
    }

  override def ran(report: PlanReport, isFirstRun: Boolean): Unit = {
    report.mode match {
      case PlanMode.Exact  => exact.inc()
      case PlanMode.Hybrid => hybrid.inc()
      case PlanMode.Stock(reason) =>
        stock.inc()
        stockByReason.get(reason.code).foreach(_.inc())
    }
    considered.inc(report.considered)
    planned.inc(report.kept)
    if (isFirstRun) micros.update((report.millis * 1000).toLong)
  }

  private def gauge(name: String)(value: => Long): Unit =
    metrics.register(name, new Gauge[Long] { override def getValue: Long = value }): Unit
}

private[zonemap] object DriverMetrics {

  /** The age of the oldest of some times, in milliseconds; 0 if there is none. */
  def ageOf(times: Seq[Long]): Long =
    times.minOption.fold(0L)(since => math.max(0L, System.currentTimeMillis() - since))
}
