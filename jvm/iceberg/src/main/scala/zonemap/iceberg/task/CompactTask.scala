// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task

import java.util.{Collections, List => JList}

import org.apache.iceberg._
import org.apache.iceberg.expressions.Expression

/**
 * The task of one data file without deletes, as a row of the index: 24 bytes instead of the half KB of Iceberg's own.
 *
 * `file`, `residual` and `schema` make Iceberg's own task each time. Java serialization replaces the task by it, so
 * executors receive no class of zonemap. Thread-safe.
 */
private[zonemap] final class CompactTask private[task] (files: CompactFiles, private[task] val row: Int)
    extends FileScanTask {
  override def file(): DataFile = made.file()
  override def deletes(): JList[DeleteFile] = Collections.emptyList()
  override def schema(): Schema = made.schema()
  override def spec(): PartitionSpec = files.spec(row)
  override def partition(): StructLike = files.partition(row)
  override def residual(): Expression = made.residual()
  override def start(): Long = 0
  override def length(): Long = files.sizeBytes(row)
  override def sizeBytes(): Long = length()
  override def filesCount(): Int = 1
  override def estimatedRowsCount(): Long = estimatedRows(length())
  override def split(targetSplitSize: Long): java.lang.Iterable[FileScanTask] = files.splits(this, targetSplitSize)

  /** As of Iceberg's own task, which people read in logs. */
  override def toString: String = made.toString

  /** The location of the file. */
  def path: String = files.path(row)

  /** Iceberg's own task of the file, made each time. */
  def made: BaseFileScanTask = files.made(row)

  /** The format of the file. */
  def format: FileFormat = files.format(row)

  private[task] def estimatedRows(length: Long): Long = files.estimatedRows(row, length)
  private def writeReplace(): AnyRef = made
}

private[zonemap] object CompactTask {

  /** The location of the file of a task, without making the file. */
  def pathOf(task: FileScanTask): String =
    task match {
      case compact: CompactTask => compact.path
      case other                => other.file().location()
    }
}

/** A part of the file of a [[CompactTask]], which Java serialization replaces by Iceberg's own split. Thread-safe. */
private[zonemap] final class CompactSplit private[task] (
    private val task: CompactTask,
    override val start: Long,
    override val length: Long)
    extends FileScanTask
    with MergeableScanTask[CompactSplit] {
  override def file(): DataFile = task.file()
  override def deletes(): JList[DeleteFile] = task.deletes()
  override def schema(): Schema = task.schema()
  override def spec(): PartitionSpec = task.spec()
  override def partition(): StructLike = task.partition()
  override def residual(): Expression = task.residual()
  override def sizeBytes(): Long = length
  override def filesCount(): Int = 1
  override def estimatedRowsCount(): Long = task.estimatedRows(length)

  override def split(targetSplitSize: Long): java.lang.Iterable[FileScanTask] =
    throw new UnsupportedOperationException("Cannot split a task which is already split")

  override def canMerge(other: ScanTask): Boolean =
    other match {
      case next: CompactSplit => (next.task eq task) && start + length == next.start
      case _                  => false
    }

  override def merge(other: ScanTask): CompactSplit =
    new CompactSplit(task, start, length + other.asInstanceOf[CompactSplit].length)

  private def writeReplace(): AnyRef = CompactSplit.Splitter.split(task.made, start, length)
}

private[task] object CompactSplit {

  /** Makes Iceberg's own splits, whose class is not public. */
  object Splitter extends BaseFileScanTask(null, null, null, null, null) {
    def split(task: FileScanTask, start: Long, length: Long): FileScanTask = newSplitTask(task, start, length)
  }
}
