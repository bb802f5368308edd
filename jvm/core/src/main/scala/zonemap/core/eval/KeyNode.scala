package zonemap.core.eval

import zonemap.core.segment.{BoundsColumn, Segment}
import zonemap.core.value.LongValue

/**
 * A leaf that asks for some numbers, of a column whose rows are in order of their lower bounds: the rows that hold a
 * number are found there, where a [[LeafNode]] compares all of them. Belongs to one evaluation; not thread-safe.
 *
 * @param comparing the same leaf by comparing all rows
 */
sealed abstract private[eval] class KeyNode(comparing: => LeafNode) extends EvaluationNode {
  final protected lazy val compared: LeafNode = comparing

  override def mustMatch(candidates: Bitmap): Bitmap = compared.mustMatch(candidates)
}

/** Few numbers, which are looked up first of all. */
final private class FewKeysNode(hits: Bitmap, comparing: => LeafNode) extends KeyNode(comparing) {
  override def mayMatch(candidates: Bitmap): Bitmap = candidates.copy().and(hits)

  override val survivors: Int = Math.min(hits.cardinality, Segment.blocksOf(hits.size))
  override def work: Int = 0
}

/** More numbers: all rows are gone through, unless other leaves have left few of them. */
final private class ManyKeysNode(hits: => Bitmap, rows: Int, comparing: => LeafNode) extends KeyNode(comparing) {
  override def mayMatch(candidates: Bitmap): Bitmap =
    if (candidates.cardinality < rows / KeyNode.AskedShare) compared.mayMatch(candidates) else hits.and(candidates)

  override def survivors: Int = Segment.blocksOf(rows)
  override def work: Int = 2 * survivors
}

private[eval] object KeyNode {

  /** From so many rows for each number on, looking up is cheaper than going through all rows. */
  private val RowsPerKey = 32

  /** Of fewer rows than one in so many, those that are asked about are compared. */
  private[eval] val AskedShare = 4

  /**
   * The leaf as a [[KeyNode]] where its rows are in order.
   *
   * @param asked how many rows are asked about
   */
  def orElse(rule: LeafRule, column: BoundsColumn, rows: Int, asked: Int)(compared: => LeafNode): EvaluationNode =
    keysOf(rule).fold[EvaluationNode](compared) { keys =>
      column.lowerOrder
        .map { order =>
          val ordered = new OrderedRows(column, order)
          if (keys.length <= asked / RowsPerKey)
            new FewKeysNode(hits(rule, ordered, new KeyLookup(ordered, keys), rows), compared)
          else new ManyKeysNode(hits(rule, ordered, new KeySweep(ordered, keys), rows), rows, compared)
        }
        .getOrElse {
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

  private def hits(rule: LeafRule, ordered: OrderedRows, search: KeySearch, rows: Int): Bitmap = {
    val found = Bitmap.empty(rows)
    search.find(found)
    ordered.order.others.foreach { row =>
      val zone = ColumnZone(ordered.column.columnType, ordered.column.bounds(row))
      if (Question.MayMatch.holds(ZoneMatch.evaluate(rule, zone))) found.set(row)
    }
    found
  }
}
