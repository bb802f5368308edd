// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.prune

import scala.collection.mutable

import org.apache.iceberg.FileScanTask

import zonemap.core.predicate.{ColumnRef, Predicate}
import zonemap.core.segment.Segment
import zonemap.core.value.{LongValue, TimestampTzType, ZoneValue, ZoneValues}
import zonemap.iceberg.report.AggregateReason
import zonemap.iceberg.report.AggregateReason.{FewWholeFiles, ManyGroups, SeveralGroups}

/** An aggregate that the index can evaluate file by file. */
private[zonemap] sealed trait FileAggregate

private[zonemap] object FileAggregate {
  case object CountRows extends FileAggregate

  /** Counts the rows that are not null. */
  final case class CountValues(column: ColumnRef) extends FileAggregate
  final case class Least(column: ColumnRef) extends FileAggregate
  final case class Greatest(column: ColumnRef) extends FileAggregate

  def columnOf(aggregate: FileAggregate): Option[ColumnRef] =
    aggregate match {
      case CountRows           => None
      case CountValues(column) => Some(column)
      case Least(column)       => Some(column)
      case Greatest(column)    => Some(column)
    }
}

/** A function of one column by whose results a query groups its rows. Used by one thread. */
private[zonemap] trait KeyFunction {

  /**
   * Returns the result for all values from `lower` to `upper`; `None` unless it is proven that all have the same result.
   */
  def single(lower: ZoneValue, upper: ZoneValue): Option[ZoneValue]

  /** Returns the result for null, which may be null. */
  def ofNull: Option[ZoneValue]
}

/** A grouping key: a column, or a function of it. `text` is the key in messages. */
private[zonemap] final case class GroupKey(column: ColumnRef, function: Option[KeyFunction] = None, text: String = "")

/**
 * The aggregates of a query over a scan.
 *
 * @param filter TRUE for a row only if the query's whole condition is TRUE
 */
private[zonemap] final case class AggregateQuestion(
    filter: Predicate,
    grouping: Seq[GroupKey],
    aggregates: Seq[FileAggregate])

/** The results of one group over whole files: counts, or values, which are null if no row has a value. */
private[zonemap] final case class GroupAnswer(keys: Seq[ZoneValue], results: Seq[ZoneValue])

/**
 * Results of aggregates over some of the planned files.
 *
 * @param groups the results over the rows of `files` only
 * @param files the paths of planned files; the scan has to read all other planned files
 */
private[zonemap] final case class FileAnswers(groups: Seq[GroupAnswer], files: java.util.Set[String])

/**
 * Evaluates aggregates over whole files from the index (SOUNDNESS, S102 to S107).
 *
 * A planned file is evaluated if all its rows are proven to be in the result, no row is deleted, and the keys and
 * results of its group are known exactly. One pass over the files, which takes one or two microseconds for the path
 * of each. The pass ends at the file with which there are more groups than a plan can hold.
 */
private[zonemap] final class FileAggregates(question: AggregateQuestion, tasks: IndexedSeq[FileScanTask]) {
  private lazy val records = FileAggregates.wholeFiles(tasks)
  private val groups = mutable.LinkedHashMap.empty[Seq[ZoneValue], Array[ZoneValue]]
  private val answered = new java.util.HashSet[String]

  /** Number of whole files that may be in several groups. */
  private var mixed = 0L

  /** @param files the planned files, and possibly others, in the index */
  def answer(files: FileSet): Either[AggregateReason, FileAnswers] = {
    files.foreachSegment { (segment, rows) =>
      if (!rows.isEmpty && !hasTooMany) {
        val complete = files.trust.wholeFiles(segment, question.filter, rows)
        if (!complete.isEmpty) addSegment(segment, complete.toArray, files.trust)
      }
    }
    if (hasTooMany) Left(ManyGroups(FileAggregates.MaxGroups))
    else if (answered.isEmpty || answered.size * FileAggregates.LeastShare < tasks.size)
      Left(tooFew)
    else Right(FileAnswers(groups.iterator.map { case (k, r) => GroupAnswer(k, r.toSeq) }.toSeq, answered))
  }

  private def hasTooMany: Boolean = groups.size > FileAggregates.MaxGroups

  private def tooFew: AggregateReason = {
    val functions = question.grouping.filter(_.function.isDefined)
    val ofZone = functions.exists(_.column.columnType == TimestampTzType)
    if (functions.nonEmpty && mixed * 2 >= tasks.size)
      SeveralGroups(functions.map(_.text), mixed, tasks.size.toLong, ofZone)
    else FewWholeFiles(answered.size.toLong, tasks.size.toLong)
  }

  private def addSegment(segment: Segment, rows: Array[Int], trust: BoundsTrust): Unit = {
    val columns = mutable.HashMap.empty[ColumnRef, ExactColumn]
    def known(column: ColumnRef) = columns.getOrElseUpdate(column, new ExactColumn(segment, column, trust))
    val keys = question.grouping.map(key => (row: Int) => known(key.column).key(key.function, row))
    val results = question.aggregates.map(resultOf(_, known))
    val tested = Predicate
      .fieldIds(question.filter)
      .toSeq
      .flatMap(segment.column)
      .map(stored => known(ColumnRef(stored.fieldId, stored.columnType, "")))
    val paths = segment.newPathReader()
    rows.iterator.takeWhile(_ => !hasTooMany).filter(row => tested.forall(_.boundsAreOfWhatIsRead(row))).foreach {
      row =>
        val path = paths.path(row)
        val count = records.get(path)
        if (count != null && !answered.contains(path))
          FileAggregates.all(keys.map(_(row))) match {
            case None => mixed += 1
            case Some(key) =>
              FileAggregates.all(results.map(_(row, count))).foreach { found =>
                add(key, found)
                answered.add(path): Unit
              }
          }
    }
  }

  private def resultOf(aggregate: FileAggregate, known: ColumnRef => ExactColumn): (Int, Long) => Option[ZoneValue] =
    aggregate match {
      case FileAggregate.CountRows => (_, records) => Some(ZoneValues.ofLong(records))
      case FileAggregate.CountValues(column) =>
        val facts = known(column)
        (row, records) => facts.count(row, records).map(ZoneValues.ofLong)
      case FileAggregate.Least(column) =>
        val facts = known(column)
        (row, _) => facts.extreme(row, least = true)
      case FileAggregate.Greatest(column) =>
        val facts = known(column)
        (row, _) => facts.extreme(row, least = false)
    }

  private def add(key: Seq[ZoneValue], found: Seq[ZoneValue]): Unit =
    groups.get(key) match {
      case None        => groups.put(key, found.toArray): Unit
      case Some(total) => total.indices.foreach(i => total(i) = merged(question.aggregates(i), total(i), found(i)))
    }

  private def merged(aggregate: FileAggregate, left: ZoneValue, right: ZoneValue): ZoneValue =
    (aggregate, left, right) match {
      case (FileAggregate.CountRows | _: FileAggregate.CountValues, LongValue(a), LongValue(b)) =>
        ZoneValues.ofLong(Math.addExact(a, b))
      case (_, null, value)               => value
      case (_, value, null)               => value
      case (_: FileAggregate.Least, _, _) => if (left.compare(right) <= 0) left else right
      case _                              => if (left.compare(right) >= 0) left else right
    }
}

private object FileAggregates {

  /** The plan of a query can hold this many rows without becoming slow. */
  private val MaxGroups = 10000

  /** If less than one of this many files is evaluated, a second branch of the plan is not worth its cost. */
  private val LeastShare = 10

  /**
   * The record count of each file that readers return as a whole, by path. A file that is planned twice is left out,
   * because its rows count twice in the query. The map is empty if readers drop rows by a filter that Spark does not
   * check (S67).
   */
  private def wholeFiles(tasks: IndexedSeq[FileScanTask]): java.util.Map[String, java.lang.Long] = {
    val whole = new java.util.HashMap[String, java.lang.Long]
    val seen = new java.util.HashSet[String]
    if (!readersFilterMore(tasks)) tasks.foreach { task =>
      val path = task.file().location()
      if (!seen.add(path)) whole.remove(path)
      else if (isWhole(task)) whole.put(path, task.file().recordCount())
    }
    whole
  }

  private def isWhole(task: FileScanTask): Boolean =
    task.deletes().isEmpty && !task.isDataTask && task.file().recordCount() > 0 &&
      task.start() == 0 && task.length() == task.file().fileSizeInBytes()

  /** One file for each spec is checked, because such a filter is the residual of every file. */
  private def readersFilterMore(tasks: IndexedSeq[FileScanTask]): Boolean = {
    val specs = new java.util.HashSet[Integer]
    tasks.exists(task => specs.add(task.file().specId()) && PartitionFilter.holdsMiscounted(task.residual()))
  }

  private def all(values: Seq[Option[ZoneValue]]): Option[Seq[ZoneValue]] =
    Option.when(values.forall(_.isDefined))(values.flatten)
}
