// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, GenericInternalRow, Literal}

/**
 * The span of a function of arguments whose spans are known. The arguments are neither NaN nor null only. The function
 * is null only if an argument is.
 */
private[expression] trait IntervalRule {

  /** Returns the values of the function for all arguments that are not null; throws [[Span.NotKnown]]. */
  def span(arguments: Array[Span]): Span
}

/**
 * An expression that Catalyst evaluates for given arguments.
 *
 * @param bound the expression with references to a row of `size` arguments
 */
private[expression] final class FunctionAt private (bound: Expression, size: Int) {
  private val row = new GenericInternalRow(size)

  /** Sets an argument for the next [[result]]. */
  def set(argument: Int, value: Any): Unit = row.update(argument, value)

  def result(): Any = bound.eval(row)
}

private[expression] object FunctionAt {

  /** A function of its children. Those that are literals stay as they are. */
  def of(function: Expression): FunctionAt = {
    val bound = function.children.zipWithIndex.map {
      case (literal: Literal, _) => literal
      case (child, i)            => BoundReference(i, child.dataType, nullable = true)
    }
    new FunctionAt(function.withNewChildren(bound), bound.size)
  }

  /** An expression of one part of it. */
  def of(expression: Expression, part: Expression): FunctionAt =
    new FunctionAt(
      expression.transformDown { case found if found eq part => BoundReference(0, part.dataType, nullable = true) },
      size = 1)
}

/**
 * A function that is monotone in each argument, whatever the others are. Its least and greatest result lie in corners of
 * the spans.
 *
 * @param directions for each argument whether the function rises (1) or falls (-1) with it, or either (0)
 * @param accepts true for spans in which the function has a result everywhere
 * @param slacks for the first arguments, by how much the order may deviate near a value, in its units
 * @param widened by how much the order of the result may deviate
 */
private final class CornerRule(
    function: Expression,
    directions: Seq[Int],
    accepts: Array[Span] => Boolean,
    slacks: Array[Long => Long],
    widened: Double)
    extends IntervalRule {
  private val at = FunctionAt.of(function)
  private val order = new SpanOrder(function.dataType)

  /** For each corner, whether the upper end of each argument is taken. */
  private val corners: Array[Array[Boolean]] = directions
    .foldLeft(Seq(Seq.empty[Int])) { (found, direction) =>
      for (before <- found; sign <- if (direction == 0) Seq(1, -1) else Seq(direction)) yield before :+ sign
    }
    .flatMap(signs => Seq(signs.map(_ > 0), signs.map(_ < 0)))
    .distinct
    .map(_.toArray)
    .toArray

  override def span(arguments: Array[Span]): Span = {
    val isKnown = arguments.forall(a => isFinite(a.lower) && isFinite(a.upper)) && accepts(arguments)
    if (!isKnown) throw Span.NotKnown
    var least: Any = null
    var greatest: Any = null
    corners.foreach { uppers =>
      val found = result(arguments, uppers)
      if (least == null || order.compare(found, least) < 0) least = found
      if (greatest == null || order.compare(found, greatest) > 0) greatest = found
    }
    Span.between(moved(least, -widened), moved(greatest, widened), hasNulls = false)
  }

  private def result(arguments: Array[Span], uppers: Array[Boolean]): Any = {
    var i = 0
    while (i < arguments.length) {
      val end = if (uppers(i)) arguments(i).upper else arguments(i).lower
      at.set(i, if (i < slacks.length) outward(end.asInstanceOf[Long], uppers(i), slacks(i)) else end)
      i += 1
    }
    val found = at.result()
    if (!isFinite(found)) throw Span.NotKnown
    found
  }

  private def outward(end: Long, isUpper: Boolean, slack: Long => Long): Long =
    if (isUpper) end + slack(end) else end - slack(end)

  private def isFinite(value: Any): Boolean =
    value match {
      case null      => false
      case d: Double => !d.isNaN && !d.isInfinite
      case f: Float  => !f.isNaN && !f.isInfinite
      case _         => true
    }

  private def moved(value: Any, by: Double): Any =
    value match {
      case d: Double if by != 0 => d + by
      case n: Long if by != 0   => Math.addExact(n, by.toLong)
      case other                => other
    }
}

/** A function of one argument that is monotone on pieces, see [[MonotoneFunctions]]. */
private final class PieceRule(function: Expression, step: MonotoneStep) extends IntervalRule {
  private val at = FunctionAt.of(function)
  private val order = new SpanOrder(function.dataType)
  private val index = function.children.indexWhere(_ eq step.child)
  private val dataType = step.child.dataType
  private val pieces = step.pieces.map(_.domain).filterNot(_.isEmpty).sortBy(_.first)

  override def span(arguments: Array[Span]): Span = {
    val argument = arguments(index)
    if (argument.lower == null || argument.upper == null) throw Span.NotKnown
    val from = IntervalRules.encoded(dataType, argument.lower)
    val to = IntervalRules.encoded(dataType, argument.upper)
    val inside = Domain(from - step.slackAt(from), to + step.slackAt(to))
    val parts = pieces.iterator
      .filter(piece => piece.first <= inside.last && inside.first <= piece.last)
      .map(_.intersect(inside))
      .take(PieceRule.MaxPieces)
      .toList
    val isCovered = parts.nonEmpty && parts.head.first == inside.first && parts.last.last == inside.last &&
      parts.zip(parts.drop(1)).forall { case (a, b) => a.last + 1 == b.first }
    if (!isCovered) throw Span.NotKnown
    val results = parts.flatMap(p => Seq(result(p.first), result(p.last)))
    Span.between(order.least(results), order.greatest(results), hasNulls = false)
  }

  private def result(x: Long): Any = {
    at.set(index, CatalystValues.decode(dataType, x))
    val value = at.result()
    CatalystValues.encode(function.dataType, value) match {
      case Encoded.Value(_) => value
      case _                => throw Span.NotKnown
    }
  }
}

private object PieceRule {
  private val MaxPieces = 4
}

/**
 * A function whose first argument is a column, which rises within a period.
 *
 * @param periodOf the period of an argument, of which equal ones are the same period; None if the order is not kept
 */
private final class PeriodRule(function: Expression, periodOf: Any => Option[Any]) extends IntervalRule {
  private val at = FunctionAt.of(function)

  override def span(arguments: Array[Span]): Span = {
    val Span(lower, upper, _, _, _) = arguments.head
    val isOne = lower != null && upper != null && {
      val first = periodOf(lower)
      first.isDefined && first == periodOf(upper)
    }
    if (!isOne) throw Span.NotKnown
    Span.between(result(lower), result(upper), hasNulls = false)
  }

  private def result(x: Any): Any = {
    at.set(0, x)
    val value = at.result()
    if (value == null) throw Span.NotKnown
    value
  }
}
