// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import zonemap.core.column.{Bitmap, Blocks, BoundsColumn, LowerOrder}
import zonemap.core.rule.{ColumnZone, Elements, Endpoint, Interval, LeafRule, Match, ValueRule, ZoneMatch}
import zonemap.core.value.LongValue

/**
 * A leaf that matches only a few numbers (keys), on a column whose rows are sorted by lower bound. The matching rows
 * are looked up in that order when the node is created, whereas a [[LeafNode]] compares all rows. Belongs to one
 * evaluation; not thread-safe.
 *
 * @param hits the rows of the segment that may match
 * @param comparing the node of the same leaf that compares rows
 */
final private[core] class KeyNode(hits: Bitmap, comparing: => LeafNode) extends EvaluationNode {
  override def mayMatch(candidates: Bitmap): Bitmap = candidates.copy().and(hits)
  override def mustMatch(candidates: Bitmap): Bitmap = comparing.mustMatch(candidates)

  override val survivors: Int = Math.min(hits.cardinality, Blocks.count(hits.size))
  override def work: Int = 0
}

private[core] object KeyNode {

  /** From this many candidate rows per key on, looking up keys is cheaper than comparing rows. */
  private val RowsPerKey = 32

  /**
   * A [[KeyNode]] if the leaf has few keys and the column has a [[LowerOrder]]; otherwise `compared`.
   *
   * @param candidates the number of candidate rows
   */
  def orElse(rule: LeafRule, column: BoundsColumn, rows: Int, candidates: Int)(compared: => LeafNode): EvaluationNode =
    keysOf(rule).filter(_.length <= candidates / RowsPerKey) match {
      case None => compared
      case Some(keys) =>
        column.lowerOrder match {
          case Some(order) => new KeyNode(hits(rule, column, order, keys, rows), compared)
          case None =>
            val all = compared
            if (candidates > rows / 2 && all.comparesMost) column.searched()
            all
        }
    }

  /**
   * The numbers that a leaf matches; None if the leaf also matches null or NaN rows, or values other than listed
   * numbers.
   */
  private def keysOf(rule: LeafRule): Option[Array[Long]] = rule match {
    case LeafRule(Match.None, Match.None, ValueRule.Inside(set)) =>
      set match {
        case Elements(values) => values.longs
        case Interval(Some(Endpoint(LongValue(from), true)), Some(Endpoint(LongValue(to), true))) if from == to =>
          Some(Array(from))
        case _ => None
      }
    case _ => None
  }

  private def hits(rule: LeafRule, column: BoundsColumn, order: LowerOrder, keys: Array[Long], rows: Int): Bitmap = {
    val found = Bitmap.empty(rows)
    new KeyLookup(column, order).find(keys, found)
    order.others.foreach { row =>
      val zone = ColumnZone(column.columnType, column.bounds(row))
      if (EvaluationMode.MayMatch.keeps(ZoneMatch.evaluate(rule, zone))) found.set(row)
    }
    found
  }
}
