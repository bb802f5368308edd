package zonemap.spark.join

import scala.jdk.OptionConverters._

import org.apache.iceberg.FileScanTask
import org.apache.spark.sql.connector.read._

import zonemap.iceberg.plan.{PlannedScan, ZoneMapBatchScan}
import zonemap.spark.rule.ForwardingScan

/**
 * Iceberg's batch scan, as far as our rules need it: what it was planned from, its tasks, and how to remove some.
 *
 * Iceberg's own runtime filter knows partitions only; without [[TaskMethods]] no scan is filterable.
 */
private[spark] object IcebergScans {
  private val BatchQueryScan = "org.apache.iceberg.spark.source.SparkBatchQueryScan"
  private val ColumnarReaders = "org.apache.iceberg.spark.source.SparkColumnarReaderFactory"

  private val KnownInterfaces: Set[Class[_]] = Set(
    classOf[Scan],
    classOf[SupportsReportPartitioning],
    classOf[SupportsReportStatistics],
    classOf[SupportsRuntimeV2Filtering])

  private val methods: Option[TaskMethods] = TaskMethods.ofIceberg.toOption

  /** Whether the scan is one that can be wrapped without anything being lost. */
  def isFilterable(scan: Scan): Boolean =
    methods.isDefined && scan.getClass.getName == BatchQueryScan &&
      interfaces(scan.getClass).forall(i => KnownInterfaces.exists(known => i.isAssignableFrom(known)))

  /**
   * Whether the tasks of a scan that is filterable are read as columnar batches. Iceberg reads so only where each of them
   * can be, so any part of them, and none, is read so too.
   */
  def readsBatches(scan: Scan): Boolean =
    scan.toBatch.createReaderFactory().getClass.getName == ColumnarReaders

  /** What the scan was planned from, all of its tasks; `None` where Iceberg planned it, and for other kinds of scans. */
  def planned(scan: Scan): Option[PlannedScan] = {
    val inner = ForwardingScan.unwrapped(scan)
    if (!isFilterable(inner)) None
    else {
      tasks(inner): Unit // a plan is complete when its last task has been made
      methods.map(_.below.invoke(inner)).collect { case ours: ZoneMapBatchScan => ours.planned().toScala }.flatten
    }
  }

  /** The planned tasks, a file each; `None` when it is another kind of scan. */
  def fileTasks(scan: Scan): Option[IndexedSeq[FileScanTask]] = {
    val planned = tasks(scan)
    val files = planned.collect { case task: FileScanTask => task }
    Option.when(files.size == planned.size)(files)
  }

  /** Takes away the tasks of these files; returns how many were and are left. */
  def remove(scan: Scan, paths: java.util.Set[String]): (Int, Int) = {
    val before = tasks(scan)
    val after = new java.util.ArrayList[AnyRef](before.size)
    before.foreach {
      case task: FileScanTask if paths.contains(task.file().location()) => ()
      case task                                                         => after.add(task): Unit
    }
    // without an effect the splits need not be planned again
    if (after.size < before.size) methods.foreach(_.reset.invoke(scan, after): Unit)
    (before.size, after.size)
  }

  private def tasks(scan: Scan): IndexedSeq[AnyRef] =
    methods.fold(IndexedSeq.empty[AnyRef]) {
      _.tasks.invoke(scan).asInstanceOf[java.util.List[AnyRef]].toArray.toIndexedSeq
    }

  private def interfaces(scanClass: Class[_]): Set[Class[_]] =
    Iterator
      .iterate[Class[_]](scanClass)(_.getSuperclass)
      .takeWhile(_ != null)
      .flatMap(_.getInterfaces)
      .filter(_.getName.startsWith("org.apache.spark.sql.connector.read."))
      .toSet
}
