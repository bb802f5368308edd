// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import zonemap.core.column.Bitmap

/**
 * AND. The child that keeps fewest blocks is evaluated first, and of equal ones the cheapest. Each child evaluates only
 * the rows that all earlier children kept.
 */
final private[core] class AndNode(unordered: Seq[EvaluationNode]) extends EvaluationNode {
  private val children = unordered.sortBy(c => (c.survivors, c.work))

  override def survivors: Int = children.headOption.fold(0)(_.survivors)
  override def work: Int = children.map(_.work).sum

  override def mayMatch(candidates: Bitmap): Bitmap = narrow(candidates, _ mayMatch _)
  override def mustMatch(candidates: Bitmap): Bitmap = narrow(candidates, _ mustMatch _)

  private def narrow(candidates: Bitmap, evaluate: (EvaluationNode, Bitmap) => Bitmap): Bitmap = {
    var left = candidates.copy()
    val next = children.iterator
    while (next.hasNext && !left.isEmpty) left = evaluate(next.next(), left)
    left
  }
}

/**
 * OR. The child that keeps most blocks is evaluated first. Each child evaluates only the rows that no earlier child
 * kept.
 */
final private[core] class OrNode(unordered: Seq[EvaluationNode]) extends EvaluationNode {
  private val children = unordered.sortBy(c => (-c.survivors, c.work))

  override def survivors: Int = children.headOption.fold(0)(_.survivors)
  override def work: Int = children.map(_.work).sum

  override def mayMatch(candidates: Bitmap): Bitmap = widen(candidates, _ mayMatch _)
  override def mustMatch(candidates: Bitmap): Bitmap = widen(candidates, _ mustMatch _)

  private def widen(candidates: Bitmap, evaluate: (EvaluationNode, Bitmap) => Bitmap): Bitmap = {
    val kept = Bitmap.empty(candidates.size)
    val left = candidates.copy()
    val next = children.iterator
    while (next.hasNext && !left.isEmpty) {
      val found = evaluate(next.next(), left)
      kept.or(found)
      left.andNot(found)
    }
    kept
  }
}
