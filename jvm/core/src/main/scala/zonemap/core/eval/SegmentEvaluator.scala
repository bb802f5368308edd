package zonemap.core.eval

import zonemap.core.predicate._
import zonemap.core.segment.{ColumnRoot, Segment}

/**
 * Evaluates a predicate on every row (file) of a segment, leaf by leaf over 16-bit codes: segment root, then block
 * zones, then the rows of open blocks, about 1-2 ns per row and leaf. Agrees with [[ZoneMatch]] on the row's own bounds,
 * exactly. Columns are loaded as the predicate names them; a damaged one is a CorruptSegmentException. Thread-safe.
 */
private[zonemap] object SegmentEvaluator {

  /** The answer for the whole segment, from its roots; those that were read before are asked first. */
  def rootMatch(segment: Segment, predicate: Predicate): Match =
    rootMatch(predicate, segment.knownRoot(_)) match {
      case Match.None => Match.None
      case _          => rootMatch(predicate, segment.root(_))
    }

  private def rootMatch(predicate: Predicate, root: Int => Option[ColumnRoot]): Match =
    ZoneMatch.evaluate(predicate, fieldId => root(fieldId).map(r => ColumnZone(r.columnType, r.bounds)))

  /** The answer for one row: the reference. */
  def rowMatch(segment: Segment, predicate: Predicate, row: Int): Match =
    ZoneMatch.evaluate(predicate, fieldId => segment.column(fieldId).map(c => ColumnZone(c.columnType, c.bounds(row))))

  /** The candidates that are not proven free of matching rows. The argument is not changed. */
  def mayMatch(segment: Segment, predicate: Predicate, candidates: Bitmap): Bitmap =
    evaluate(segment, predicate, candidates)((node, c) => node.mayMatch(c))

  /** The candidates all of whose rows are proven to match. The argument is not changed. */
  def mustMatch(segment: Segment, predicate: Predicate, candidates: Bitmap): Bitmap =
    evaluate(segment, predicate, candidates)((node, c) => node.mustMatch(c))

  private def evaluate(segment: Segment, predicate: Predicate, candidates: Bitmap)(
      ask: (EvaluationNode, Bitmap) => Bitmap): Bitmap = {
    require(candidates.size == segment.rows, s"${candidates.size} candidates for ${segment.rows} rows")
    rootMatch(segment, predicate) match {
      case Match.None => Bitmap.empty(segment.rows)
      case Match.All  => candidates.copy()
      case Match.Some =>
        val scratch = new ZoneBuffer(Segment.BlockRows)
        ask(compile(segment, predicate, candidates.cardinality, scratch), candidates)
    }
  }

  /** @param asked how many rows are asked about */
  private def compile(segment: Segment, predicate: Predicate, asked: Int, scratch: ZoneBuffer): EvaluationNode =
    predicate match {
      case True                         => new ConstantNode(segment, Match.All)
      case False                        => new ConstantNode(segment, Match.None)
      case Unknown(_) | Evaluated(_, _) => new ConstantNode(segment, Match.Some)
      case And(children)                => new AndNode(children.map(compile(segment, _, asked, scratch)))
      case Or(children)                 => new OrNode(children.map(compile(segment, _, asked, scratch)))
      case leaf: Leaf =>
        val evaluator = for {
          column <- columnOf(segment, leaf.column)
          rule <- LeafRule.of(leaf, column.columnType)
        } yield KeyNode.orElse(rule, column, segment.rows, asked)(
          new LeafNode(new LeafEvaluator(rule, column, segment.rows, scratch)))
        evaluator.getOrElse(new ConstantNode(segment, Match.Some))
      case CompareColumns(left, op, right) =>
        val node =
          for (l <- columnOf(segment, left); r <- columnOf(segment, right))
            yield new ColumnPairNode(op, l, r)
        node.getOrElse(new ConstantNode(segment, Match.Some))
    }

  private def columnOf(segment: Segment, column: ColumnRef) =
    if (column.mapKey.isDefined) None else segment.column(column.fieldId)
}

/** A compiled predicate. Results are fresh bitmaps, subsets of the candidates. */
private[eval] trait EvaluationNode {
  def mayMatch(candidates: Bitmap): Bitmap
  def mustMatch(candidates: Bitmap): Bitmap

  /** Block zones expected to survive. */
  def survivors: Int

  /** Expected work, in blocks times cost of a row. */
  def work: Int
}

final private class ConstantNode(segment: Segment, result: Match) extends EvaluationNode {
  private def kept(question: Question, candidates: Bitmap) =
    if (question.holds(result)) candidates.copy() else Bitmap.empty(candidates.size)

  override def mayMatch(candidates: Bitmap): Bitmap = kept(Question.MayMatch, candidates)
  override def mustMatch(candidates: Bitmap): Bitmap = kept(Question.MustMatch, candidates)

  override def survivors: Int =
    if (result == Match.None) 0 else Segment.blocksOf(segment.rows)

  override def work: Int = 0
}

final private[eval] class LeafNode(leaf: LeafEvaluator) extends EvaluationNode {
  override def mayMatch(candidates: Bitmap): Bitmap = leaf.mayMatch(candidates)
  override def mustMatch(candidates: Bitmap): Bitmap = leaf.mustMatch(candidates)
  override def survivors: Int = leaf.candidateBlocks
  override def work: Int = leaf.openBlocks * leaf.rowCost

  def comparesMost: Boolean = leaf.comparesMost
}

/** Children that keep least go first, cheaper ones before dearer; each sees what the ones before it left. */
final private class AndNode(unordered: Seq[EvaluationNode]) extends EvaluationNode {
  private val children = unordered.sortBy(c => (c.survivors, c.work))

  override def survivors: Int = children.headOption.fold(0)(_.survivors)
  override def work: Int = children.map(_.work).sum

  override def mayMatch(candidates: Bitmap): Bitmap = narrow(candidates, _ mayMatch _)
  override def mustMatch(candidates: Bitmap): Bitmap = narrow(candidates, _ mustMatch _)

  private def narrow(candidates: Bitmap, ask: (EvaluationNode, Bitmap) => Bitmap): Bitmap = {
    var left = candidates.copy()
    val next = children.iterator
    while (next.hasNext && !left.isEmpty) left = ask(next.next(), left)
    left
  }
}

/** Children that keep most go first; each is asked only about rows that none before it kept. */
final private class OrNode(unordered: Seq[EvaluationNode]) extends EvaluationNode {
  private val children = unordered.sortBy(c => (-c.survivors, c.work))

  override def survivors: Int = children.headOption.fold(0)(_.survivors)
  override def work: Int = children.map(_.work).sum

  override def mayMatch(candidates: Bitmap): Bitmap = widen(candidates, _ mayMatch _)
  override def mustMatch(candidates: Bitmap): Bitmap = widen(candidates, _ mustMatch _)

  private def widen(candidates: Bitmap, ask: (EvaluationNode, Bitmap) => Bitmap): Bitmap = {
    val kept = Bitmap.empty(candidates.size)
    val left = candidates.copy()
    val next = children.iterator
    while (next.hasNext && !left.isEmpty) {
      val found = ask(next.next(), left)
      kept.or(found)
      left.andNot(found)
    }
    kept
  }
}
