package zonemap.core.eval

import zonemap.core.segment.{BoundsColumn, Dictionary, LongBounds, LongDictionary, LowerOrder, Segment}
import zonemap.core.value.LongValue

/**
 * A leaf that asks for a few numbers, of a column whose rows are in order of their lower bounds: the rows that hold a
 * number are looked up, where a [[LeafNode]] compares all of them. Belongs to one evaluation; not thread-safe.
 *
 * @param compared the same leaf by comparing all rows
 */
final private[eval] class KeyNode private (hits: Bitmap, compared: => EvaluationNode) extends EvaluationNode {
  override def mayMatch(candidates: Bitmap): Bitmap = candidates.copy().and(hits)
  override def mustMatch(candidates: Bitmap): Bitmap = compared.mustMatch(candidates)

  override val survivors: Int = Math.min(hits.cardinality, (hits.size + Segment.BlockRows - 1) / Segment.BlockRows)
  override def work: Int = 0
}

private[eval] object KeyNode {

  /** From so many rows for each number on, looking up is cheaper than comparing. */
  private val RowsPerKey = 32

  /**
   * The leaf as a [[KeyNode]] where that is cheaper and possible.
   *
   * @param asked how many rows are asked about
   */
  def orElse(rule: LeafRule, column: BoundsColumn, rows: Int, asked: Int)(compared: => LeafNode): EvaluationNode =
    keysOf(rule).filter(_.length <= asked / RowsPerKey).fold[EvaluationNode](compared) { keys =>
      val found = for {
        order <- column.lowerOrder
        search <- Search.of(column, order, rows)
      } yield new KeyNode(search.hits(rule, keys), compared)
      found.getOrElse {
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

  /** Finds the rows of an order whose bounds hold a number. */
  private final class Search(
      column: BoundsColumn,
      dictionary: LongDictionary,
      bounds: LongBounds,
      order: LowerOrder,
      rows: Int) {
    private val found = Bitmap.empty(rows)

    /** @param keys those of the rule, ascending */
    def hits(rule: LeafRule, keys: Array[Long]): Bitmap = {
      val codes = dictionary.codesOf(keys)
      var i = 0
      while (i < keys.length) {
        find(keys(i), Dictionary.gap(codes(i)))
        i += 1
      }
      order.others.foreach { row =>
        val zone = ColumnZone(column.columnType, column.bounds(row))
        if (Question.MayMatch.holds(ZoneMatch.evaluate(rule, zone))) found.set(row)
      }
      found
    }

    private def find(key: Long, gap: Int): Unit = {
      val part = order.part(gap, key - dictionary.floor(2 * gap))
      findIn(gap, part, key)
      var from = Math.max(0, gap - LowerOrder.Reach)
      while (from < gap) {
        if (order.mayReach(from, gap)) findBefore(from, gap, key)
        from += 1
      }
    }

    /** Rows that start in the gap of the key. */
    private def findIn(gap: Int, part: Int, key: Long): Unit = {
      val end = order.start(gap + 1)
      var place = order.start(gap)
      while (place < end) {
        val fromLower = part - order.lowerPart(place)
        val toUpper = order.upperPart(place) - part
        // both at once: which of them is negative is a guess that a branch loses
        if ((fromLower | toUpper) >= 0 && ((fromLower > 0 && toUpper > 0) || holds(order.row(place), gap, gap, key)))
          found.set(order.row(place))
        place += 1
      }
    }

    /** Rows that start in a gap before that of the key. */
    private def findBefore(from: Int, gap: Int, key: Long): Unit = {
      val end = order.start(from + 1)
      var place = order.start(from)
      while (place < end) {
        if (order.upperPart(place) == LowerOrder.Beyond && holds(order.row(place), from, gap, key))
          found.set(order.row(place))
        place += 1
      }
    }

    private def holds(row: Int, from: Int, gap: Int, key: Long): Boolean = {
      // all codes of a gap have the same floor, all that a lower bound needs of its code
      val lower = bounds.lower(row, 2 * from)
      val upperCode = column.upperCodes(row)
      val upperGap = Dictionary.gap(upperCode)
      lower <= key && (upperGap > gap || (upperGap == gap && bounds.upper(row, lower, upperCode) >= key))
    }
  }

  private object Search {
    def of(column: BoundsColumn, order: LowerOrder, rows: Int): Option[Search] =
      for {
        bounds <- column.longs()
        dictionary <- Some(column.dictionary).collect { case longs: LongDictionary => longs }
      } yield new Search(column, dictionary, bounds, order, rows)
  }
}
