// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.answer

import zonemap.core.predicate.{ColumnRef, Predicate}
import zonemap.core.value.ZoneValue
import zonemap.iceberg.trust.KeyFunction

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
    aggregates: Seq[FileAggregate]) {

  /** The columns that the condition, the keys and the aggregates name. */
  def fieldIds: Set[Int] =
    Predicate.fieldIds(filter) ++ grouping.map(_.column.fieldId) ++
      aggregates.flatMap(FileAggregate.columnOf).map(_.fieldId)
}

/** The results of one group over whole files: counts, or values, which are null if no row has a value. */
private[zonemap] final case class GroupAnswer(keys: Seq[ZoneValue], results: Seq[ZoneValue])
