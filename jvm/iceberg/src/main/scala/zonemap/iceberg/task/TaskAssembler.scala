// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.{BaseFileScanTask, DataFile, DeleteFile, FileScanTask, PartitionSpec}
import org.apache.iceberg.{PartitionSpecParser, SchemaParser}
import org.apache.iceberg.expressions.{Expressions, ResidualEvaluator}
import org.apache.iceberg.metrics.ScanMetrics
import org.apache.iceberg.util.ScanTaskUtil

import zonemap.core.segment.{PartitionTuple, PathReader, Segment}
import zonemap.iceberg.convert.PartitionTuples
import zonemap.iceberg.prune.{BoundScan, PartitionFilter, ScanRequest}
import zonemap.iceberg.snapshot.SnapshotIndex

/**
 * Makes Iceberg's file scan tasks from the selected files, with their delete files and residuals.
 *
 * Tasks share their schema, spec and residuals, which are made once for each spec, and delete files, which are made
 * once for each plan. Residuals are `alwaysTrue` if the scan must return whole files. Not thread-safe, except for
 * [[CompactFiles]]; one instance for each walk through a plan.
 *
 * @param isCompact whether tasks without deletes are [[CompactTask]]s. A snapshot with deletes has none: finding the
 *   deletes of a file takes its path and its bounds, and their size is a part of the weight of its splits
 */
private[zonemap] final class TaskAssembler(
    index: SnapshotIndex,
    bound: BoundScan,
    request: ScanRequest,
    isCompact: Boolean) {
  private val shared = mutable.HashMap.empty[Int, SharedBySpec]
  private val templates = new ContentFileTemplates(bound.specs)
  private val deletes =
    new DeleteMatcher(index.deletes, templates, bound.schema +: request.table.schemas().values().asScala.toSeq)

  /** The counts of the tasks made so far. */
  val counts = new TaskCounts

  /** Whether the tasks are [[CompactTask]]s, which read the paths of their files later. */
  val makesCompact: Boolean = isCompact && index.deletes.isEmpty

  /**
   * Makes the tasks for the files of one segment.
   *
   * @param newReader returns a reader of the segment's paths; all of these readers share what they have read
   */
  final class Of(segment: Segment, newReader: () => PathReader) {
    private val files = new DataFileFactory(segment, newReader(), templates)
    private val deleteFiles = new deletes.Of(segment)
    private val bySpec = segment.partitions.iterator.map(p => sharedOf(p.specId)).toArray
    private lazy val compact = new CompactFiles(segment, newReader, whole, bound.specs, lock = TaskAssembler.this)

    def task(row: Int): FileScanTask =
      if (makesCompact) {
        counts.add(segment.fileSizeBytes(row), segment.recordCount(row))
        compact.task(row)
      } else {
        val file = files.dataFile(row)
        val applying = deleteFiles.deletesFor(row, file)
        counts.add(file, applying)
        taskOf(row, file, applying)
      }

    /** Whether `task` reads nothing for this row. */
    def isHeld(row: Int): Boolean = makesCompact && compact.isHeld(row)

    private def whole(row: Int): BaseFileScanTask = taskOf(row, files.dataFile(row), TaskAssembler.NoDeletes)

    private def taskOf(row: Int, file: DataFile, applying: Array[DeleteFile]): BaseFileScanTask = {
      val partition = segment.partitionOrdinal(row)
      val spec = bySpec(partition)
      val residuals = spec.residualsOf(segment.partitions(partition))
      new BaseFileScanTask(file, applying, spec.schemaJson, spec.specJson, residuals)
    }
  }

  private def sharedOf(specId: Int): SharedBySpec =
    shared.getOrElseUpdate(specId, new SharedBySpec(bound.specs(specId)))

  private final class SharedBySpec(spec: PartitionSpec) {
    val schemaJson: String = SchemaParser.toJson(spec.schema())
    val specJson: String = PartitionSpecParser.toJson(spec)
    private val filter = if (request.ignoreResiduals) Expressions.alwaysTrue() else request.filter
    private val residuals = PartitionFilter.residuals(spec, filter, request.caseSensitive)
    private val mayFail = PartitionFilter.mayFailOnNull(filter)

    /**
     * The residuals of the files of a partition. If Iceberg's readers would fail to compute them, readers evaluate
     * nothing: the partition of a planned file matches the conditions on partitions, and Spark evaluates the others.
     */
    def residualsOf(partition: PartitionTuple): ResidualEvaluator =
      if (mayFail && partition.values.contains(null) &&
        PartitionFilter.failsOn(residuals, PartitionTuples.toStruct(partition.values, spec.partitionType())))
        TaskAssembler.Unfiltered
      else residuals
  }
}

private object TaskAssembler {
  private val NoDeletes = new Array[DeleteFile](0)
  private val Unfiltered = ResidualEvaluator.unpartitioned(Expressions.alwaysTrue())
}

/** The counts of planned tasks for Iceberg's scan metrics, summed while the tasks are made. Not thread-safe. */
private[zonemap] final class TaskCounts {
  private var files = 0L
  private var fileBytes = 0L
  private var fileRows = 0L
  private var deleteFiles = 0L
  private var deleteBytes = 0L
  private var last = new Array[DeleteFile](0)
  private var lastBytes = 0L

  /** @param deletes must not change later: tasks with the same delete files may share one array */
  def add(file: DataFile, deletes: Array[DeleteFile]): Unit = {
    add(file.fileSizeInBytes(), file.recordCount())
    if (deletes ne last) {
      last = deletes
      lastBytes = 0L
      deletes.foreach(delete => lastBytes += ScanTaskUtil.contentSizeInBytes(delete))
    }
    deleteFiles += deletes.length
    deleteBytes += lastBytes
  }

  /** Adds a data file without deletes. */
  def add(fileSizeBytes: Long, recordCount: Long): Unit = {
    files += 1
    fileBytes += fileSizeBytes
    fileRows += recordCount
  }

  /** The size of the data files. */
  def bytes: Long = fileBytes

  /** The rows of the data files. */
  def rows: Long = fileRows

  def report(metrics: ScanMetrics): Unit = {
    metrics.resultDataFiles().increment(files)
    metrics.totalFileSizeInBytes().increment(fileBytes)
    metrics.resultDeleteFiles().increment(deleteFiles)
    metrics.totalDeleteFileSizeInBytes().increment(deleteBytes)
  }
}
