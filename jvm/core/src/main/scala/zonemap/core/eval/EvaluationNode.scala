package zonemap.core.eval

import zonemap.core.segment.Blocks

/** A compiled predicate. Results are fresh bitmaps, subsets of the candidates. */
private[eval] trait EvaluationNode {
  def mayMatch(candidates: Bitmap): Bitmap
  def mustMatch(candidates: Bitmap): Bitmap

  /** Block zones expected to survive. */
  def survivors: Int

  /** Expected work, in blocks times cost of a row. */
  def work: Int
}

/** One answer for all rows. */
final private[eval] class ConstantNode(rows: Int, result: Match) extends EvaluationNode {
  private def kept(mode: EvaluationMode, candidates: Bitmap) =
    if (mode.keeps(result)) candidates.copy() else Bitmap.empty(candidates.size)

  override def mayMatch(candidates: Bitmap): Bitmap = kept(EvaluationMode.MayMatch, candidates)
  override def mustMatch(candidates: Bitmap): Bitmap = kept(EvaluationMode.MustMatch, candidates)

  override def survivors: Int = if (result == Match.None) 0 else Blocks.count(rows)

  override def work: Int = 0
}

/** A leaf that compares all rows. */
final private[eval] class LeafNode(leaf: LeafEvaluator) extends EvaluationNode {
  override def mayMatch(candidates: Bitmap): Bitmap = leaf.mayMatch(candidates)
  override def mustMatch(candidates: Bitmap): Bitmap = leaf.mustMatch(candidates)
  override def survivors: Int = leaf.candidateBlocks
  override def work: Int = leaf.openBlocks * leaf.rowCost

  def comparesMost: Boolean = leaf.comparesMost
}
