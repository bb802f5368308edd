// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * A condition that is evaluated on spans of its columns instead of values: SOUNDNESS, S194 to S199. Functions of
 * [[IntervalRules]] are evaluated by Catalyst itself at the ends of the spans of their arguments. Not thread-safe.
 *
 * @param isBounded whether the condition may be refuted though no column has a single value
 */
private[expression] final class Intervals private (root: Intervals.Node, functions: Int, leaves: Int) {

  val isBounded: Boolean = root.isBounded

  /** The work of one evaluation, as [[CheapFunctions.steps]]. */
  val steps: Double = functions * Intervals.StepsOfFunction + leaves * Intervals.StepsOfLeaf

  /** False if the condition is TRUE for no row with values in the spans, and Spark reports no error for such a row. */
  def mayBeTrue(columns: Array[Span]): Boolean =
    try root.span(columns).mayBeTrue
    catch { case Span.NotKnown => true }
}

private[expression] object Intervals {

  /** About two microseconds: a few evaluations of one function by the interpreter. */
  private val StepsOfFunction = 100.0

  /** A column or a literal, of which `greatest` may have thousands. */
  private val StepsOfLeaf = 5.0

  /** The condition, whose columns are bound; None if it has a function that cannot be evaluated on spans. */
  def of(bound: Expression): Option[Intervals] =
    // a function that reads a conf when it evaluates rows has other results then
    if (LateConfs.combinations(bound).sizeIs > 1) None
    else {
      val (leaves, functions) = bound.collect { case e => e }.partition(_.children.isEmpty)
      Some(new Intervals(compile(bound), functions.size, leaves.size))
    }

  /**
   * An expression that is evaluated on spans.
   *
   * @param isBounded whether the span may be known though no column has a single value
   * @param span computes the span, or throws [[Span.NotKnown]]
   */
  private[expression] final case class Node(isBounded: Boolean, span: Array[Span] => Span)

  private def compile(e: Expression): Node =
    e match {
      case Literal(value, _) =>
        val point = Span.point(value)
        Node(isBounded = true, _ => point)
      case BoundReference(ordinal, _, _) => Node(isBounded = true, _(ordinal))
      case And(left, right)              => junction(compile(left), compile(right), dominant = false)
      case Or(left, right)               => junction(compile(left), compile(right), dominant = true)
      case Not(child)                    => of(compile(child))(negated)
      case IsNull(child)                 => of(compile(child))(s => Span.truth(s.hasNulls, s.isAny, hasNulls = false))
      case IsNotNull(child)              => of(compile(child))(s => Span.truth(s.isAny, s.hasNulls, hasNulls = false))
      case IsNaN(child) => of(compile(child))(s => Span.truth(s.hasNaN, s.hasValues || s.hasNulls, false))
      case comparison: BinaryComparison => compared(comparison)
      case In(value, list) =>
        val (constants, others) = list.partition(_.isInstanceOf[Literal])
        in(value, constants.map(_.eval()), others.map(compile))
      case InSet(value, set)      => in(value, set, Nil)
      case If(condition, yes, no) => cases(e.dataType, Seq(compile(condition) -> compile(yes)), compile(no))
      case CaseWhen(branches, otherwise) =>
        val last = otherwise.fold(constant(Span.OnlyNull))(compile)
        cases(e.dataType, branches.map { case (c, v) => compile(c) -> compile(v) }, last)
      case Coalesce(children)                             => coalesced(e.dataType, children.map(compile))
      case Greatest(children)                             => extreme(e.dataType, children.map(compile), sign = 1)
      case Least(children)                                => extreme(e.dataType, children.map(compile), sign = -1)
      case Concat(children) if e.dataType == StringType   => concatenated(children.map(compile))
      case StartsWith(text, Constant(prefix: UTF8String)) => startsWith(compile(text), prefix)
      case function =>
        IntervalRules.of(function) match {
          case Some(rule) => ofRule(function, rule)
          case None       => ofPoints(function)
        }
    }

  private def constant(span: Span): Node = Node(isBounded = true, _ => span)

  private def of(child: Node)(span: Span => Span): Node = Node(child.isBounded, columns => span(child.span(columns)))

  private def negated(s: Span): Span = Span.truth(s.mayBeFalse, s.mayBeTrue, s.hasNulls)

  /** AND, of which FALSE is dominant, or OR, of which TRUE is. */
  private def junction(left: Node, right: Node, dominant: Boolean): Node =
    Node(
      left.isBounded && right.isBounded,
      columns => {
        val (l, r) = (left.span(columns), right.span(columns))
        def may(s: Span, outcome: Boolean) = if (outcome) s.mayBeTrue else s.mayBeFalse
        val other = may(l, !dominant) && may(r, !dominant)
        val either = may(l, dominant) || may(r, dominant)
        val nulls = (l.hasNulls && (r.hasNulls || may(r, !dominant))) || (r.hasNulls && may(l, !dominant))
        if (dominant) Span.truth(either, other, nulls) else Span.truth(other, either, nulls)
      }
    )

  /** A comparison: SOUNDNESS, S195. Rows with a null on either side give NULL, but for `<=>`. */
  private def compared(comparison: BinaryComparison): Node = {
    val order = new SpanOrder(comparison.left.dataType)
    val (left, right) = (compile(comparison.left), compile(comparison.right))
    def differ(l: Span, r: Span) = order.mayBeLess(l, r) || order.mayBeLess(r, l)
    val span: (Span, Span) => (Boolean, Boolean) = comparison match {
      case _: LessThan           => (l, r) => (order.mayBeLess(l, r), order.mayBeLessOrEqual(r, l))
      case _: LessThanOrEqual    => (l, r) => (order.mayBeLessOrEqual(l, r), order.mayBeLess(r, l))
      case _: GreaterThan        => (l, r) => (order.mayBeLess(r, l), order.mayBeLessOrEqual(l, r))
      case _: GreaterThanOrEqual => (l, r) => (order.mayBeLessOrEqual(r, l), order.mayBeLess(l, r))
      case _: EqualTo            => (l, r) => (order.mayBeEqual(l, r), differ(l, r))
      case _: EqualNullSafe =>
        (l, r) =>
          (
            order.mayBeEqual(l, r) || (l.hasNulls && r.hasNulls),
            differ(l, r) || (l.hasNulls && r.isAny) || (r.hasNulls && l.isAny))
      case _ => throw new IllegalArgumentException(s"an unknown comparison: ${comparison.getClass.getName}")
    }
    val isNullSafe = comparison.isInstanceOf[EqualNullSafe]
    Node(
      left.isBounded && right.isBounded,
      columns => {
        val (l, r) = (left.span(columns), right.span(columns))
        val (mayBeTrue, mayBeFalse) = span(l, r)
        Span.truth(mayBeTrue, mayBeFalse, !isNullSafe && (l.hasNulls || r.hasNulls))
      }
    )
  }

  /**
   * IN. It is taken to be FALSE for any value, so NOT IN refutes nothing but nulls. A list may hold millions of constants,
   * so these are searched.
   */
  private def in(value: Expression, constants: Iterable[Any], others: Seq[Node]): Node = {
    val order = new SpanOrder(value.dataType)
    val tested = compile(value)
    val points = constants.map(Span.point).toSeq
    val (nulls, nan) = (points.exists(_.hasNulls), points.exists(_.hasNaN))
    lazy val sorted = order.sorted(points.filter(_.hasValues).map(_.lower))
    def mayBeConstant(v: Span) = (v.hasNaN && nan) || (v.hasValues && order.isAnyWithin(sorted, v))
    val isEmpty = points.isEmpty && others.isEmpty
    Node(
      tested.isBounded && others.forall(_.isBounded),
      columns => {
        val v = tested.span(columns)
        val elements = others.map(_.span(columns))
        Span.truth(
          mayBeConstant(v) || elements.exists(order.mayBeEqual(v, _)),
          v.isAny || isEmpty,
          v.hasNulls || nulls || elements.exists(_.hasNulls))
      }
    )
  }

  /** CASE: SOUNDNESS, S57. A branch that no row reaches is not evaluated. */
  private def cases(dataType: DataType, branches: Seq[(Node, Node)], otherwise: Node): Node = {
    val order = new SpanOrder(dataType)
    Node(
      branches.forall { case (c, _) => c.isBounded } && (otherwise.isBounded || branches.exists(_._2.isBounded)),
      columns => {
        def from(rest: List[(Node, Node)]): Span = rest match {
          case Nil => otherwise.span(columns)
          case (condition, value) :: more =>
            val truth = condition.span(columns)
            val isSkipped = truth.mayBeFalse || truth.hasNulls
            if (!truth.mayBeTrue) from(more)
            else if (!isSkipped) value.span(columns)
            else order.union(value.span(columns), from(more))
        }
        from(branches.toList)
      }
    )
  }

  private def coalesced(dataType: DataType, children: Seq[Node]): Node = {
    val order = new SpanOrder(dataType)
    Node(
      children.forall(_.isBounded),
      columns => {
        def from(rest: List[Node]): Span = rest match {
          case Nil => Span.OnlyNull
          case child :: more =>
            val span = child.span(columns)
            if (span.hasNulls) order.union(span.copy(hasNulls = false), from(more)) else span
        }
        from(children.toList)
      }
    )
  }

  /** greatest and least, which skip nulls: SOUNDNESS, S196. */
  private def extreme(dataType: DataType, children: Seq[Node], sign: Int): Node = {
    val order = new SpanOrder(dataType)
    Node(
      children.forall(_.isBounded),
      columns => {
        val spans = children.map(_.span(columns)).filter(_.isAny)
        val hasNaN = spans.exists(_.hasNaN)
        // arguments that bound the result of every row, because they always have a value
        val sure = spans.filter(s => !s.hasNulls && (sign > 0 || !s.hasNaN) && s.hasValues)
        val valued = spans.filter(_.hasValues)
        def outer(end: Span => Any, fold: Seq[Any] => Any): Any = fold(valued.map(end))
        def inner(end: Span => Any, fold: Seq[Any] => Any, otherwise: Seq[Any] => Any): Any = {
          val known = sure.map(end).filter(_ != null)
          if (known.nonEmpty) fold(known) else otherwise(valued.map(end))
        }
        if (spans.isEmpty) Span.OnlyNull
        else if (valued.isEmpty) throw Span.NotKnown
        else
          Span(
            if (sign > 0) inner(_.lower, order.greatest, order.least) else outer(_.lower, order.least),
            if (sign > 0) outer(_.upper, order.greatest) else inner(_.upper, order.least, order.greatest),
            hasValues = true,
            hasNulls = spans.forall(_.hasNulls),
            hasNaN
          )
      }
    )
  }

  /** A function with a rule, which is NULL if an argument is. */
  private def ofRule(function: Expression, rule: IntervalRule): Node = {
    val children = function.children.map(compile).toArray
    Node(
      children.forall(_.isBounded),
      columns => {
        val arguments = children.map(_.span(columns))
        if (arguments.exists(!_.isAny)) Span.OnlyNull
        else if (arguments.exists(_.hasNaN)) throw Span.NotKnown
        else rule.span(arguments).copy(hasNulls = arguments.exists(_.hasNulls))
      }
    )
  }

  /** Any other function, which Catalyst evaluates if each argument has one value, or one value and null. */
  private def ofPoints(function: Expression): Node = {
    val children = function.children.map(compile).toArray
    val at = FunctionAt.of(function)
    val order = new SpanOrder(function.dataType)
    Node(
      isBounded = false,
      columns => {
        val arguments = children.map(_.span(columns))
        val values = arguments.zip(function.children).map { case (span, child) =>
          val isPoint = span.isPoint(child.dataType)
          if ((span.isAny && !isPoint) || span.hasNaN) throw Span.NotKnown
          (if (isPoint) Seq(span.lower) else Nil) ++ (if (span.hasNulls) Seq(null) else Nil)
        }
        if (values.map(_.size).product > MaxCombinations) throw Span.NotKnown
        val combinations = values.foldLeft(Seq(IndexedSeq.empty[Any])) { (found, some) =>
          for (before <- found; value <- some) yield before :+ value
        }
        combinations
          .map { values =>
            values.indices.foreach(i => at.set(i, values(i)))
            Span.point(at.result())
          }
          .reduce(order.union)
      }
    )
  }

  /** Limit of the evaluations of one function for values and nulls. */
  private[expression] val MaxCombinations = 4

  /**
   * Texts that follow each other: SOUNDNESS, S197. All before the first text that may have several values is a prefix.
   * That text ends the prefix if it is the last one; else only its beginning is known.
   */
  private def concatenated(children: Seq[Node]): Node =
    Node(
      children.forall(_.isBounded),
      columns => {
        val texts = children.map(_.span(columns))
        if (texts.exists(!_.hasValues)) Span.OnlyNull
        else {
          val (points, others) = texts.span(_.isPoint(StringType))
          val prefix = UTF8String.concat(points.map(_.lower.asInstanceOf[UTF8String]): _*)
          def after(end: Any) = UTF8String.concat(prefix, end.asInstanceOf[UTF8String])
          val hasNulls = texts.exists(_.hasNulls)
          others.toList match {
            case Nil                               => Span.between(prefix, prefix, hasNulls)
            case first :: _ if first.lower == null => Span.between(prefix, successor(prefix), hasNulls)
            case last :: Nil if last.upper != null => Span.between(after(last.lower), after(last.upper), hasNulls)
            case first :: _ =>
              val common = if (first.upper == null) prefix else commonPrefix(after(first.lower), after(first.upper))
              Span.between(after(first.lower), successor(common), hasNulls)
          }
        }
      }
    )

  private def startsWith(text: Node, prefix: UTF8String): Node = {
    val order = new SpanOrder(StringType)
    val beyond = successor(prefix)
    of(text) { s =>
      val isBelow = s.upper != null && order.compare(s.upper, prefix) < 0
      val isAbove = s.lower != null && beyond != null && order.compare(s.lower, beyond) >= 0
      Span.truth(s.hasValues && !isBelow && !isAbove, s.hasValues, s.hasNulls)
    }
  }

  private def commonPrefix(left: UTF8String, right: UTF8String): UTF8String = {
    val (a, b) = (left.getBytes, right.getBytes)
    UTF8String.fromBytes(a.take(a.indices.find(i => i >= b.length || a(i) != b(i)).getOrElse(a.length)))
  }

  /** The least text above all texts that start with a prefix; null if there is none. */
  private def successor(prefix: UTF8String): UTF8String =
    zonemap.core.value
      .BytesValue(prefix.getBytes)
      .prefixSuccessor
      .fold[UTF8String](null)(s => UTF8String.fromBytes(s.bytes))
}
