// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{BatchScan, FileFormat, FileScanTask}
import org.apache.iceberg.expressions.Expression
import org.apache.spark.sql.connector.read._

import zonemap.iceberg.plan.{PlannedScan, ZoneMapBatchScan}
import zonemap.iceberg.report.{FileTotal, PlanReport}
import zonemap.iceberg.task.CompactTask

/**
 * Access to Iceberg's batch scan for zonemap's rules: its [[PlannedScan]], its tasks, and the removal of tasks.
 *
 * Iceberg's own runtime filter prunes by partitions only. Without [[TaskMethods]] no scan is filterable.
 */
private[zonemap] object IcebergScans {
  private val BatchQueryScan = "org.apache.iceberg.spark.source.SparkBatchQueryScan"
  private val CopyOnWriteScan = "org.apache.iceberg.spark.source.SparkCopyOnWriteScan"
  private val ColumnarReaders = "org.apache.iceberg.spark.source.SparkColumnarReaderFactory"

  private val KnownInterfaces: Set[Class[_]] = Set(
    classOf[Scan],
    classOf[SupportsReportPartitioning],
    classOf[SupportsReportStatistics],
    // Iceberg 1.10 has this one, which extends SupportsRuntimeV2Filtering
    classOf[SupportsRuntimeFiltering]
  )

  private val methods: Option[TaskMethods] = TaskMethods.ofIceberg.toOption

  /** True for Iceberg's batch scan if it has no interface of Spark's that a wrapping scan would hide. */
  def isFilterable(scan: Scan): Boolean = methods.isDefined && isKnown(scan, BatchQueryScan)

  /** True for the scan of a copy-on-write command if it has no interface of Spark's that a wrapping scan would hide. */
  def isFilteredByFiles(scan: Scan): Boolean = isKnown(scan, CopyOnWriteScan)

  private def isKnown(scan: Scan, name: String): Boolean =
    scan.getClass.getName == name &&
      interfaces(scan.getClass).forall(i => KnownInterfaces.exists(known => i.isAssignableFrom(known)))

  /**
   * True if Iceberg reads the tasks of a filterable scan as columnar batches. Iceberg does so only if it can read each
   * task so, thus it also does so after some or all tasks are removed.
   */
  def readsBatches(scan: Scan): Boolean =
    IndexedBatch.of(scan).createReaderFactory().getClass.getName == ColumnarReaders

  /** Returns the plan from the index of all tasks; `None` if Iceberg planned the scan, and for other kinds of scans. */
  def planned(scan: Scan): Option[PlannedScan] = {
    val inner = ForwardingScan.unwrapped(scan)
    methods.filter(_ => isFilterable(inner)).flatMap { found =>
      found.tasks.invoke(inner): Unit // the plan is complete once its last task is created
      plannedBelow(found, inner)
    }
  }

  private def plannedBelow(methods: TaskMethods, scan: Scan): Option[PlannedScan] =
    methods.below.invoke(scan) match {
      case ours: ZoneMapBatchScan => Option(ours.planned().orElse(null))
      case _                      => None
    }

  /** Returns the filter that Spark pushed to Iceberg's scan; `None` for other kinds of scans. */
  def filterOf(scan: Scan): Option[Expression] =
    scan match {
      case forwarding: ForwardingScan => filterOf(forwarding.inner)
      case inner if isFilterable(inner) =>
        methods.map(_.below.invoke(inner)).collect { case batch: BatchScan => batch.filter() }
      case _ => None
    }

  /** Returns the planned tasks as Iceberg's own, one for each file; `None` if a task is of another kind. */
  def fileTasks(scan: Scan): Option[IndexedSeq[FileScanTask]] = {
    val planned = tasks(scan)
    val files = planned.collect {
      case compact: CompactTask => compact.made
      case task: FileScanTask   => task
    }
    Option.when(files.size == planned.size)(files)
  }

  /** One planned task of each format, if all tasks are rows of the index; else `None`. */
  def samples(scan: Scan): Option[Seq[FileScanTask]] = {
    val found = new java.util.EnumMap[FileFormat, FileScanTask](classOf[FileFormat])
    val isCompact = tasksOf(scan).iterator().asScala.forall {
      case task: CompactTask =>
        found.putIfAbsent(task.format, task)
        true
      case _ => false
    }
    Option.when(isCompact)(found.values.asScala.toSeq)
  }

  /** Removes the tasks of these files. Returns the files before and after. */
  def remove(scan: Scan, paths: java.util.Set[String]): (FileTotal, FileTotal) = {
    val before = tasks(scan)
    val after = new java.util.ArrayList[AnyRef](before.size)
    before.foreach {
      case task: FileScanTask if paths.contains(CompactTask.pathOf(task)) => ()
      case task                                                           => after.add(task): Unit
    }
    // if no task was removed, Iceberg keeps its planned splits
    if (after.size < before.size) methods.foreach(_.reset.invoke(scan, after): Unit)
    (totalOf(before.iterator), totalOf(after.asScala.iterator))
  }

  /** Removes the tasks at these places among the planned tasks. */
  def remove(scan: Scan, places: java.util.BitSet): Unit = {
    val before = tasks(scan)
    val after = new java.util.ArrayList[AnyRef](before.size)
    before.indices.foreach(i => if (!places.get(i)) after.add(before(i)): Unit)
    methods.foreach(_.reset.invoke(scan, after): Unit)
  }

  /** The files of tasks, one for each task. */
  def totalOf(tasks: Iterator[AnyRef]): FileTotal =
    tasks.foldLeft(FileTotal.Zero) {
      case (total, task: FileScanTask) => total + FileTotal(1, Some(task.length()))
      case (total, _)                  => total + FileTotal(1, None)
    }

  /** The report of a scan that was planned from the index; `None` if Iceberg planned the scan. */
  def report(scan: Scan): Option[PlanReport] =
    scan match {
      case forwarding: ForwardingScan          => report(forwarding.inner)
      case target if isFilteredByFiles(target) => methods.flatMap(plannedBelow(_, target)).map(_.report)
      case inner                               => planned(inner).map(_.report)
    }

  private def tasks(scan: Scan): IndexedSeq[AnyRef] = tasksOf(scan).toArray.toIndexedSeq

  private def tasksOf(scan: Scan): java.util.List[AnyRef] =
    methods.fold(java.util.List.of[AnyRef]())(_.tasks.invoke(scan).asInstanceOf[java.util.List[AnyRef]])

  private def interfaces(scanClass: Class[_]): Set[Class[_]] =
    Iterator
      .iterate[Class[_]](scanClass)(_.getSuperclass)
      .takeWhile(_ != null)
      .flatMap(_.getInterfaces)
      .filter(_.getName.startsWith("org.apache.spark.sql.connector.read."))
      .toSet
}
