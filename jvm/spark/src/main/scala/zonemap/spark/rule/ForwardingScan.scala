package zonemap.spark.rule

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read.{Scan, Statistics, SupportsReportStatistics}
import org.apache.spark.sql.types.StructType

/** A scan that is Iceberg's in all that a subclass does not change. Who it equals is the subclass's to say. */
private[spark] trait ForwardingScan extends Scan with SupportsReportStatistics {
  def inner: Scan

  override def readSchema(): StructType = inner.readSchema()
  override def description(): String = inner.description()
  override def columnarSupportMode(): Scan.ColumnarSupportMode = inner.columnarSupportMode()
  override def estimateStatistics(): Statistics = inner.asInstanceOf[SupportsReportStatistics].estimateStatistics()
  override def supportedCustomMetrics(): Array[CustomMetric] = inner.supportedCustomMetrics()
  override def reportDriverMetrics(): Array[CustomTaskMetric] = inner.reportDriverMetrics()
  override def hashCode(): Int = inner.hashCode()
  override def toString: String = inner.toString
}
