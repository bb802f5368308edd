package zonemap.core.eval

import zonemap.core.segment.{Blocks, BoundsColumn, LowerOrder}
import zonemap.core.value.LongValue

/**
 * A leaf that asks for a few numbers, of a column whose rows are in order of their lower bounds: the rows that hold a
 * number are looked up in that order, where a [[LeafNode]] compares all rows. Belongs to one evaluation; not thread-safe.
 *
 * @param hits the rows that may match, of all rows
 * @param comparing the same leaf by comparing all rows
 */
final private[eval] class KeyNode(hits: Bitmap, comparing: => LeafNode) extends EvaluationNode {
  override def mayMatch(candidates: Bitmap): Bitmap = candidates.copy().and(hits)
  override def mustMatch(candidates: Bitmap): Bitmap = comparing.mustMatch(candidates)

  override val survivors: Int = Math.min(hits.cardinality, Blocks.count(hits.size))
  override def work: Int = 0
}

private[eval] object KeyNode {

  /** From so many rows for each number on, looking numbers up is cheaper than comparing all rows. */
  private val RowsPerKey = 32

  /**
   * The leaf as a [[KeyNode]] where its numbers are few and its rows are in order.
   *
   * @param asked how many rows are asked about
   */
  def orElse(rule: LeafRule, column: BoundsColumn, rows: Int, asked: Int)(compared: => LeafNode): EvaluationNode =
    keysOf(rule).filter(_.length <= asked / RowsPerKey) match {
      case None => compared
      case Some(keys) =>
        column.lowerOrder match {
          case Some(order) => new KeyNode(hits(rule, column, order, keys, rows), compared)
          case None =>
            val all = compared
            if (asked > rows / 2 && all.comparesMost) column.searched()
            all
        }
    }

  /** The numbers of a leaf of which null and NaN are none, if it is about some. */
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
