// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.commit

import com.codahale.metrics.{Gauge, MetricRegistry}

import zonemap.ingest.loop.LoopStatus
import zonemap.spark.metrics.DriverMetrics

/** The metrics `ingest.*`, of a driver and of a process that only commits. */
private[zonemap] object IngestMetrics {

  /** @param loops the committers that run in this process */
  def register(metrics: MetricRegistry, loops: () => Seq[LoopStatus]): Unit = {
    def gauge(name: String)(value: Seq[LoopStatus] => Long): Unit =
      metrics.register(s"ingest.$name", new Gauge[Long] { override def getValue: Long = value(loops()) }): Unit

    gauge("committers")(_.size.toLong)
    gauge("failing")(_.count(_.problem.nonEmpty).toLong)
    gauge("pendingRecords")(_.map(_.figures.pending).sum)
    gauge("oldestPendingMillis")(found => DriverMetrics.ageOf(found.flatMap(_.figures.oldestPendingMillis)))
    gauge("quarantined")(_.map(_.figures.quarantined).sum)
    gauge("commits")(_.map(_.figures.commits).sum)
    gauge("attempts")(_.map(_.figures.attempts).sum)
  }
}
