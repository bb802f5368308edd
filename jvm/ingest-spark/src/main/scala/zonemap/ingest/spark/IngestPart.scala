// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark

import com.codahale.metrics.MetricRegistry
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.Table

import zonemap.ingest.spark.commit.{IngestMetrics, IngestProcess}
import zonemap.ingest.spark.procedure.IngestProcedures
import zonemap.ingest.spark.write.{IngestConf, IngestOptions}
import zonemap.spark.conf.ConfEntry
import zonemap.spark.metrics.QueryRuns
import zonemap.spark.part.{StartedPart, ZoneMapPart}
import zonemap.spark.scan.SparkProcess

/** Append ingestion in a driver: the sink, the committers and their procedures. */
private[zonemap] final class IngestPart extends ZoneMapPart {
  override def confs: Seq[ConfEntry[_]] = IngestConf.all
  override def start(process: SparkProcess, runs: QueryRuns): StartedPart = new StartedIngest(
    new IngestProcess(process))
}

private[spark] final class StartedIngest(val ingest: IngestProcess) extends StartedPart {
  override val procedures = new IngestProcedures(ingest).all
  override val normalizationRules = Seq(ingest.writeRule)
  override def addMetrics(metrics: MetricRegistry): Unit = IngestMetrics.register(metrics, () => ingest.loops)
  override def writtenTable(session: SparkSession, format: String, name: String): Option[Table] =
    Option.when(format == IngestOptions.Format)(ingest.sink.table(session, name))
}
