package zonemap.core.eval

/** Children that keep least go first, cheaper ones before dearer; each sees what the ones before it left. */
final private[eval] class AndNode(unordered: Seq[EvaluationNode]) extends EvaluationNode {
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
final private[eval] class OrNode(unordered: Seq[EvaluationNode]) extends EvaluationNode {
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
