// SPDX-License-Identifier: Apache-2.0
package zonemap.core.eval

import zonemap.core.column.{Bitmap, Blocks, BoundsColumn, ColumnRoot}
import zonemap.core.kernel._
import zonemap.core.predicate._
import zonemap.core.rule.{ColumnZone, LeafRule, Match, ZoneMatch}
import zonemap.core.segment.Segment

/**
 * Evaluates a predicate on every row (data file) of a segment, leaf by leaf over 16-bit codes: the root zone of the
 * segment first, then block zones, then the rows of open blocks, at about 1-2 ns per row and leaf. The result for a row
 * always equals the result of [[ZoneMatch]] on its bounds. Columns are loaded when the predicate names them; a damaged
 * column is a CorruptIndexException. Thread-safe.
 */
private[zonemap] object SegmentEvaluator {

  /**
   * The result for the whole segment, from the root zones of its columns. Roots that are in memory are evaluated first.
   */
  def rootMatch(segment: Segment, predicate: Predicate): Match =
    knownMatch(segment, predicate) match {
      case Match.None => Match.None
      case _          => rootMatch(predicate, segment.root(_))
    }

  /** The result for the whole segment from the root zones that are in memory. Reads nothing. */
  def knownMatch(segment: Segment, predicate: Predicate): Match = rootMatch(predicate, segment.knownRoot(_))

  private def rootMatch(predicate: Predicate, root: Int => Option[ColumnRoot]): Match =
    ZoneMatch.evaluate(predicate, fieldId => root(fieldId).map(r => ColumnZone(r.columnType, r.bounds)))

  /** The result for one row, by the reference evaluation [[ZoneMatch]]. */
  def rowMatch(segment: Segment, predicate: Predicate, row: Int): Match =
    ZoneMatch.evaluate(predicate, fieldId => segment.column(fieldId).map(c => ColumnZone(c.columnType, c.bounds(row))))

  /** The candidates that are not proven free of matching rows. `candidates` is not changed. */
  def mayMatch(segment: Segment, predicate: Predicate, candidates: Bitmap): Bitmap =
    evaluate(segment, predicate, candidates)((node, c) => node.mayMatch(c))

  /** The candidates of which every row is proven to match. `candidates` is not changed. */
  def mustMatch(segment: Segment, predicate: Predicate, candidates: Bitmap): Bitmap =
    evaluate(segment, predicate, candidates)((node, c) => node.mustMatch(c))

  private def evaluate(segment: Segment, predicate: Predicate, candidates: Bitmap)(
      evaluate: (EvaluationNode, Bitmap) => Bitmap): Bitmap = {
    require(candidates.size == segment.rows, s"${candidates.size} candidates for ${segment.rows} rows")
    rootMatch(segment, predicate) match {
      case Match.None => Bitmap.empty(segment.rows)
      case Match.All  => candidates.copy()
      case Match.Some =>
        val scratch = new ZoneBuffer(Blocks.BlockRows)
        evaluate(compile(segment, predicate, scratch), candidates)
    }
  }

  private def compile(segment: Segment, predicate: Predicate, scratch: ZoneBuffer): EvaluationNode =
    predicate match {
      case True                                         => new ConstantNode(segment.rows, Match.All)
      case False                                        => new ConstantNode(segment.rows, Match.None)
      case Unknown(_) | Evaluated(_, _) | AnyElement(_) => new ConstantNode(segment.rows, Match.Some)
      case And(children)                                => new AndNode(children.map(compile(segment, _, scratch)))
      case Or(children)                                 => new OrNode(children.map(compile(segment, _, scratch)))
      case leaf: Leaf =>
        val evaluator = for {
          column <- columnOf(segment, leaf.column)
          rule <- LeafRule.of(leaf, column.columnType)
        } yield new LeafNode(new LeafEvaluator(rule, column, segment.rows, scratch))
        evaluator.getOrElse(new ConstantNode(segment.rows, Match.Some))
      case CompareColumns(left, op, right) =>
        val node =
          for (l <- columnOf(segment, left); r <- columnOf(segment, right))
            yield new ColumnPairNode(op, l, r)
        node.getOrElse(new ConstantNode(segment.rows, Match.Some))
    }

  /** The bounds of a column; None for a part of its values, because bounds describe whole columns only. */
  private[zonemap] def columnOf(segment: Segment, column: ColumnRef): Option[BoundsColumn] =
    if (column.mapKey.isDefined) None else segment.column(column.fieldId)
}
