// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.answer

import java.util.BitSet

import org.apache.iceberg.FileScanTask
import org.apache.iceberg.util.ContentFileUtil

import zonemap.core.column.Bitmap
import zonemap.core.segment.Segment
import zonemap.core.value.TimestampTzType
import zonemap.iceberg.prune.{FileSet, PartitionFilter}
import zonemap.iceberg.report.AggregateReason
import zonemap.iceberg.report.AggregateReason.{FewWholeFiles, ManyGroups, NotFromIndex, SeveralGroups}
import zonemap.iceberg.trust.BoundsTrust

/**
 * Results of aggregates over some of the planned files.
 *
 * @param groups the results over the rows of `answered` only
 * @param answered the places of their tasks among the tasks of the scan; the scan has to read all other tasks
 */
private[zonemap] final case class FileAnswers(groups: Seq[GroupAnswer], answered: BitSet)

/**
 * Evaluates aggregates over whole files from the index (SOUNDNESS, S102 to S107).
 *
 * A planned file is evaluated if all its rows are proven to be in the result, no row is deleted or only rows are counted
 * and a deletion vector states how many are deleted, and the keys and results of its group are known exactly. One pass over the files and their tasks, which have the same order. The pass
 * ends at the file with which there are more groups than a plan can hold.
 */
private[zonemap] final class FileAggregates(question: AggregateQuestion, tasks: IndexedSeq[FileScanTask]) {
  private val totals = new AggregateTotals(question.aggregates)
  private val answered = new BitSet(tasks.size)

  /** Number of whole files that may be in several groups. */
  private var mixed = 0L

  /** @param files the planned files in the index, from which all of the tasks were made */
  def answer(files: FileSet): Either[AggregateReason, FileAnswers] =
    if (files.count != tasks.size) Left(NotFromIndex)
    else if (FileAggregates.readersFilterMore(tasks)) Left(tooFew)
    else {
      var first = 0
      val isSame = files.rows.forall { case (segment, rows) =>
        val tasksOfRows = first until first + rows.cardinality
        first = tasksOfRows.end
        isPlannedFrom(segment, rows, tasksOfRows) && {
          if (!totals.areTooMany) add(segment, rows, tasksOfRows, files.trust)
          true
        }
      }
      if (!isSame) Left(NotFromIndex)
      else if (totals.areTooMany) Left(ManyGroups(AggregateTotals.MaxGroups))
      else if (answered.isEmpty || answered.cardinality.toLong * FileAggregates.LeastShare < tasks.size) Left(tooFew)
      else Right(FileAnswers(totals.groups, answered))
    }

  private def tooFew: AggregateReason = {
    val functions = question.grouping.filter(_.function.isDefined)
    val ofZone = functions.exists(_.column.columnType == TimestampTzType)
    if (functions.nonEmpty && mixed * 2 >= tasks.size)
      SeveralGroups(functions.map(_.text), mixed, tasks.size.toLong, ofZone)
    else FewWholeFiles(answered.cardinality.toLong, tasks.size.toLong)
  }

  /** Whether the tasks are of the files of a segment, in the same order, judged by sizes and record counts. */
  private def isPlannedFrom(segment: Segment, rows: Bitmap, of: Range): Boolean = {
    var row = rows.nextSetBit(0)
    of.forall { i =>
      val file = tasks(i).file()
      val isSame =
        file.fileSizeInBytes() == segment.fileSizeBytes(row) && file.recordCount() == segment.recordCount(row)
      row = rows.nextSetBit(row + 1)
      isSame
    }
  }

  private def add(segment: Segment, rows: Bitmap, of: Range, trust: BoundsTrust): Unit = {
    val complete = trust.wholeFiles(segment, question.filter, rows)
    if (!complete.isEmpty) {
      val results = new SegmentResults(segment, question, trust)
      rows.toArray.iterator.zip(of.iterator).takeWhile(_ => !totals.areTooMany).foreach { case (row, i) =>
        lazy val records = recordsOf(tasks(i))
        if (complete(row) && records > 0 && results.isProven(row))
          results.key(row) match {
            case None => mixed += 1
            case Some(key) =>
              results.of(row, records).foreach { found =>
                totals.group(key).add(found)
                answered.set(i)
              }
          }
      }
    }
  }

  /**
   * The number of rows that readers return for the task of a whole file; 0 if only reading could tell. A deletion vector
   * states how many rows it deletes, but not which, so it allows only counts of rows.
   */
  private def recordsOf(task: FileScanTask): Long = {
    val deletes = task.deletes()
    if (!FileAggregates.isWhole(task)) 0L
    else if (deletes.isEmpty) task.file().recordCount()
    else if (countsRows && deletes.size() == 1 && ContentFileUtil.isDV(deletes.get(0)))
      task.file().recordCount() - deletes.get(0).recordCount()
    else 0L
  }

  private val countsRows = question.aggregates.forall(_ == FileAggregate.CountRows)
}

private object FileAggregates {

  /** If less than one of this many files is evaluated, a second branch of the plan is not worth its cost. */
  private val LeastShare = 10

  private def isWhole(task: FileScanTask): Boolean =
    !task.isDataTask && task.file().recordCount() > 0 &&
      task.start() == 0 && task.length() == task.file().fileSizeInBytes()

  /**
   * Whether readers drop rows by a filter that Spark does not check (S67). One file for each spec is checked, because
   * such a filter is the residual of every file.
   */
  private def readersFilterMore(tasks: IndexedSeq[FileScanTask]): Boolean = {
    val specs = new java.util.HashSet[Integer]
    tasks.exists(task => specs.add(task.file().specId()) && PartitionFilter.holdsMiscounted(task.residual()))
  }
}
