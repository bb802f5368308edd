// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}
import org.apache.spark.sql.connector.expressions.NamedReference
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.partitioning.Partitioning
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
  override def toBatch: Batch = IndexedBatch.of(inner)
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

  /** Returns the scan of the logical plan, by the scan of a node. */
  def ofLogical(scan: Scan): Scan =
    scan match {
      case indexed: IndexedScan => indexed.inner
      case other                => other
    }

  /** Returns Iceberg's scan, to which `scan` forwards. */
  @tailrec
  def innermost(scan: Scan): Scan =
    scan match {
      case forwarding: ForwardingScan => innermost(forwarding.inner)
      case other                      => other
    }
}

/**
 * Iceberg's filterable scan `inner` while Spark plans its node: only its batch is made in another way, and runtime
 * filters wait for each other, since nodes that share a scan filter it from different threads (S187).
 */
private[scan] final class IndexedScan(val inner: Scan)
    extends ForwardingScan
    with SupportsReportPartitioning
    with SupportsRuntimeV2Filtering {
  private val filterable = inner.asInstanceOf[SupportsRuntimeV2Filtering]

  override def unwrapped: Scan = inner
  override def filterAttributes(): Array[NamedReference] = filterable.filterAttributes()
  override def filter(predicates: Array[Predicate]): Unit = inner.synchronized(filterable.filter(predicates))

  override def outputPartitioning(): Partitioning =
    inner.asInstanceOf[SupportsReportPartitioning].outputPartitioning()

  override def equals(other: Any): Boolean =
    other match {
      case that: IndexedScan => inner == that.inner
      case _                 => false
    }
}
