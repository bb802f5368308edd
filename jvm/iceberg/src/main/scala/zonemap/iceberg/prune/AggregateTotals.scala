// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.prune

import scala.collection.mutable

import zonemap.core.value.{LongValue, ZoneValue, ZoneValues}

/** Adds up the results of aggregates over parts of a table, by group (SOUNDNESS, S109). Not thread-safe. */
private[prune] final class AggregateTotals(aggregates: Seq[FileAggregate]) {
  private val byKey = mutable.LinkedHashMap.empty[Seq[ZoneValue], Array[ZoneValue]]

  /** Whether there are more groups than a plan can hold. */
  def areTooMany: Boolean = byKey.size > AggregateTotals.MaxGroups

  def groups: Seq[GroupAnswer] = byKey.iterator.map { case (key, results) => GroupAnswer(key, results.toSeq) }.toSeq

  /** Adds the results of one part to its group. */
  def add(key: Seq[ZoneValue], found: Seq[ZoneValue]): Unit =
    byKey.get(key) match {
      case None => byKey.put(key, found.toArray): Unit
      case Some(total) =>
        total.indices.foreach(i => total(i) = AggregateTotals.merged(aggregates(i), total(i), found(i)))
    }
}

private[prune] object AggregateTotals {

  /** The plan of a query can hold this many rows without becoming slow. */
  val MaxGroups = 10000

  /** The result over two parts together. */
  def merged(aggregate: FileAggregate, left: ZoneValue, right: ZoneValue): ZoneValue =
    (aggregate, left, right) match {
      case (FileAggregate.CountRows | _: FileAggregate.CountValues, LongValue(a), LongValue(b)) =>
        ZoneValues.ofLong(Math.addExact(a, b))
      case (_, null, value)               => value
      case (_, value, null)               => value
      case (_: FileAggregate.Least, _, _) => if (left.compare(right) <= 0) left else right
      case _                              => if (left.compare(right) >= 0) left else right
    }
}
