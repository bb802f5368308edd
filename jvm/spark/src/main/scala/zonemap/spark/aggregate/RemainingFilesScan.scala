// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.aggregate

import org.apache.spark.sql.connector.read._

import zonemap.iceberg.report.{CountedStep, PlanStep}
import zonemap.spark.scan.ForwardingScan

/**
 * Iceberg's scan without the files whose results the index provides.
 *
 * Spark compares scans and batches to reuse the rows of one for another. Two of these scans, and their batches, are
 * therefore equal only if they read the same files (SOUNDNESS, S108).
 *
 * @param remaining paths of the files that the scan reads
 * @param counted the files before and after those whose results the index provides
 * @param note the text that EXPLAIN shows
 */
private[zonemap] final class RemainingFilesScan(
    val inner: Scan,
    private val remaining: java.util.Set[String],
    counted: CountedStep,
    val note: String)
    extends ForwardingScan {

  override def steps: Seq[(PlanStep, Option[CountedStep])] = Seq((counted.step, Some(counted)))

  override def toBatch: Batch = new RemainingFilesBatch(super.toBatch, remaining)
  override def description(): String = s"${inner.description()} [$note]"

  override def equals(other: Any): Boolean =
    other match {
      case that: RemainingFilesScan => inner == that.inner && remaining == that.remaining
      case _                        => false
    }
}

private final class RemainingFilesBatch(private val inner: Batch, private val remaining: java.util.Set[String])
    extends Batch {
  override def planInputPartitions(): Array[InputPartition] = inner.planInputPartitions()
  override def createReaderFactory(): PartitionReaderFactory = inner.createReaderFactory()

  override def equals(other: Any): Boolean =
    other match {
      case that: RemainingFilesBatch => inner == that.inner && remaining == that.remaining
      case _                         => false
    }

  override def hashCode(): Int = inner.hashCode()
}
