package zonemap.spark.rule

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read.{Scan, Statistics, SupportsReportStatistics}
import org.apache.spark.sql.types.StructType

/** A scan that is Iceberg's in all that a subclass does not change. Who it equals is the subclass's to say. */
private[spark] trait ForwardingScan extends Scan with SupportsReportStatistics {
  def inner: Scan

  /** The scan whose tasks a rule may take away: this one, unless a subclass names the scan that it forwards to. */
  def unwrapped: Scan = this

  override def readSchema(): StructType = inner.readSchema()
  override def description(): String = inner.description()
  override def columnarSupportMode(): Scan.ColumnarSupportMode = inner.columnarSupportMode()
  override def estimateStatistics(): Statistics = inner.asInstanceOf[SupportsReportStatistics].estimateStatistics()
  override def supportedCustomMetrics(): Array[CustomMetric] = inner.supportedCustomMetrics()
  override def reportDriverMetrics(): Array[CustomTaskMetric] = inner.reportDriverMetrics()
  override def hashCode(): Int = inner.hashCode()
  override def toString: String = inner.toString
}

private[spark] object ForwardingScan {

  /** Iceberg's own scan, where nothing but the keys of joins is around it. */
  def unwrapped(scan: Scan): Scan =
    scan match {
      case forwarding: ForwardingScan => forwarding.unwrapped
      case other                      => other
    }
}
