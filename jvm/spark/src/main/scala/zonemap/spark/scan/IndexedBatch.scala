// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import java.lang.reflect.Field

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.{BaseScanTaskGroup, FileScanTask, ScanTask}
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory, Scan}
import org.slf4j.LoggerFactory

/**
 * Iceberg's batch of a filterable scan, whose reader factory is chosen without all files: Iceberg looks at each task
 * to find out whether all can be read as columnar batches, which would make each file of a compact task. Tasks of
 * one format without deletes are alike to Iceberg, so it looks at one of each format (S145).
 */
private[zonemap] final class IndexedBatch private (private val inner: Batch, scan: Scan) extends Batch {
  override def planInputPartitions(): Array[InputPartition] = inner.planInputPartitions()

  override def createReaderFactory(): PartitionReaderFactory =
    IndexedBatch.sampled(scan).getOrElse(inner).createReaderFactory()

  override def equals(other: Any): Boolean =
    other match {
      case that: IndexedBatch => inner == that.inner
      case _                  => false
    }

  override def hashCode(): Int = inner.hashCode()
}

private[zonemap] object IndexedBatch {
  private val log = LoggerFactory.getLogger("zonemap")
  private val BatchClass = "org.apache.iceberg.spark.source.SparkBatch"

  /** The groups of tasks of Iceberg's batch; `None`, which is logged, if this Iceberg has no such field. */
  private lazy val groupsField: Option[Field] =
    try {
      val field = Class.forName(BatchClass, false, classOf[SparkTable].getClassLoader).getDeclaredField("taskGroups")
      require(field.getType == classOf[java.util.List[_]], s"field $field is not a list")
      field.setAccessible(true)
      Some(field)
    } catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        log.warn(
          s"Zonemap: the files of a scan are made before its readers are chosen: Iceberg has other internals: $e")
        None
    }

  /** The batch of a scan, with the reader factory chosen by samples if it is Iceberg's filterable scan. */
  def of(scan: Scan): Batch =
    if (IcebergScans.isFilterable(scan)) new IndexedBatch(scan.toBatch, scan) else scan.toBatch

  /** Iceberg's batch of a sample of the tasks; `None` if not all tasks are rows of the index. */
  private def sampled(scan: Scan): Option[Batch] =
    for (groups <- groupsField; samples <- IcebergScans.samples(scan)) yield {
      val batch = scan.toBatch // a new object each time
      groups.set(batch, if (samples.isEmpty) java.util.List.of() else groupOf(samples))
      batch
    }

  private def groupOf(tasks: Iterable[FileScanTask]): java.util.List[BaseScanTaskGroup[ScanTask]] =
    java.util.Collections.singletonList(new BaseScanTaskGroup[ScanTask](tasks.toSeq.map(task => task: ScanTask).asJava))
}
