// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read.{Scan, Statistics, SupportsReportStatistics}
import org.apache.spark.sql.types.StructType

import zonemap.iceberg.report.{CountedStep, PlanStep}

/** A scan that forwards to Iceberg's scan `inner`. Each subclass overrides the methods it changes, and `equals`. */
private[zonemap] trait ForwardingScan extends Scan with SupportsReportStatistics {
  def inner: Scan

  /** The scan whose tasks a rule may remove: this scan, unless a subclass returns `inner`. */
  def unwrapped: Scan = this

  /** The steps in which this scan itself prunes files, with the files before and after once they are known. */
  def steps: Seq[(PlanStep, Option[CountedStep])] = Nil

  /** The column under which this scan takes the values of an expression as a runtime filter. */
  def passedAs(expression: Expression): Option[AttributeReference] = None

  override def readSchema(): StructType = inner.readSchema()
  override def description(): String = inner.description()
  override def columnarSupportMode(): Scan.ColumnarSupportMode = inner.columnarSupportMode()
  override def estimateStatistics(): Statistics = inner.asInstanceOf[SupportsReportStatistics].estimateStatistics()
  override def supportedCustomMetrics(): Array[CustomMetric] = inner.supportedCustomMetrics()
  override def reportDriverMetrics(): Array[CustomTaskMetric] = inner.reportDriverMetrics()
  override def hashCode(): Int = inner.hashCode()
  override def toString: String = inner.toString
}

private[zonemap] object ForwardingScan {

  /** Returns Iceberg's scan if `scan` only adds join keys to it, else `scan`. */
  def unwrapped(scan: Scan): Scan =
    scan match {
      case forwarding: ForwardingScan => forwarding.unwrapped
      case other                      => other
    }
}
