package zonemap.core.eval

import zonemap.core.predicate.CompareOp
import zonemap.core.segment.{BoundsColumn, ColumnBounds, Segment}
import zonemap.core.value.{ColumnType, Presence, UuidType}

/** Two columns of one zone against each other; docs/design/SOUNDNESS.md, S76 to S78. Never proves that all match. */
private[eval] object ColumnPair {

  def evaluate(op: CompareOp, left: ColumnZone, right: ColumnZone): Match =
    if (left.bounds.nulls == Presence.All || right.bounds.nulls == Presence.All) Match.None
    else if (oneOrder(left.columnType, right.columnType) && apart(op, left, right)) Match.None
    else Match.Some

  private def apart(op: CompareOp, left: ColumnZone, right: ColumnZone): Boolean = op match {
    case CompareOp.Lt   => !mayHoldNaN(right) && (allNaN(left) || order(left, right).exists(_ >= 0))
    case CompareOp.LtEq => !mayHoldNaN(right) && (allNaN(left) || order(left, right).exists(_ > 0))
    case _ =>
      val apart = order(left, right).exists(_ > 0) || order(right, left).exists(_ > 0)
      (apart || allNaN(left) || allNaN(right)) && !(mayHoldNaN(left) && mayHoldNaN(right))
  }

  /** The least value of `above` against the greatest of `below`; None where there is no value to speak of. */
  private def order(above: ColumnZone, below: ColumnZone): Option[Int] =
    for {
      lower <- Option(above.bounds.lower)
      upper <- Option(below.bounds.upper)
      if bounded(above) && bounded(below)
    } yield lower.compare(upper)

  private def bounded(zone: ColumnZone): Boolean = !allNaN(zone) && !ZoneMatch.inverted(zone)

  private def allNaN(zone: ColumnZone): Boolean = zone.columnType.mayHoldNaN && zone.bounds.nans == Presence.All

  private def mayHoldNaN(zone: ColumnZone): Boolean =
    zone.columnType.mayHoldNaN && zone.bounds.nans != Presence.None

  /** Values in one encoding and of one order; uuids have two. */
  private def oneOrder(left: ColumnType, right: ColumnType): Boolean =
    ColumnType.comparable(left, right) && left.encoding == right.encoding && left != UuidType
}

/** A comparison of two columns over the rows of a segment: blocks first, then rows one by one. Not thread-safe. */
final private[eval] class ColumnPairNode(op: CompareOp, left: BoundsColumn, right: BoundsColumn)
    extends EvaluationNode {
  private val open: Bitmap = {
    val out = Bitmap.empty(left.blocks.size)
    (0 until left.blocks.size).foreach { block =>
      if (mayMatch(left.blockBounds(block), right.blockBounds(block))) out.set(block)
    }
    out
  }

  override val survivors: Int = open.cardinality

  override def work: Int = survivors * ColumnPairNode.RowCost

  override def mayMatch(candidates: Bitmap): Bitmap = {
    val out = Bitmap.empty(candidates.size)
    candidates.forEach { row =>
      if (open(row / Segment.BlockRows) && mayMatch(left.bounds(row), right.bounds(row))) out.set(row)
    }
    out
  }

  override def mustMatch(candidates: Bitmap): Bitmap = Bitmap.empty(candidates.size)

  private def mayMatch(ofLeft: ColumnBounds, ofRight: ColumnBounds): Boolean =
    ColumnPair.evaluate(op, ColumnZone(left.columnType, ofLeft), ColumnZone(right.columnType, ofRight)) != Match.None
}

private object ColumnPairNode {

  /** Against a leaf on codes: values are looked up and compared one by one. */
  val RowCost = 20
}
