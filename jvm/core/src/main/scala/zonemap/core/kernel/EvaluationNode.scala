// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import zonemap.core.column.{Bitmap, Blocks}
import zonemap.core.rule.Match

/** A compiled predicate. Each method returns a new bitmap, which is a subset of the candidates. */
private[core] trait EvaluationNode {
  def mayMatch(candidates: Bitmap): Bitmap
  def mustMatch(candidates: Bitmap): Bitmap

  /** An estimate of how many blocks the node keeps. */
  def survivors: Int

  /** An estimate of the node's work: the blocks it compares times the cost of a row. */
  def work: Int
}

/** A predicate with the same result for all rows. */
final private[core] class ConstantNode(rows: Int, result: Match) extends EvaluationNode {
  private def kept(mode: EvaluationMode, candidates: Bitmap) =
    if (mode.keeps(result)) candidates.copy() else Bitmap.empty(candidates.size)

  override def mayMatch(candidates: Bitmap): Bitmap = kept(EvaluationMode.MayMatch, candidates)
  override def mustMatch(candidates: Bitmap): Bitmap = kept(EvaluationMode.MustMatch, candidates)

  override def survivors: Int = if (result == Match.None) 0 else Blocks.count(rows)

  override def work: Int = 0
}

/** A leaf that compares every candidate row in the blocks that block zones leave open. */
final private[core] class LeafNode(leaf: LeafEvaluator) extends EvaluationNode {
  override def mayMatch(candidates: Bitmap): Bitmap = leaf.mayMatch(candidates)
  override def mustMatch(candidates: Bitmap): Bitmap = leaf.mustMatch(candidates)
  override def survivors: Int = leaf.candidateBlocks
  override def work: Int = leaf.openBlocks * leaf.rowCost
}
