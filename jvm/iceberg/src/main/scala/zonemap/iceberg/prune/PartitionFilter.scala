// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.prune

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.{PartitionSpec, StructLike}
import org.apache.iceberg.expressions.{Evaluator, Expression, Expressions, ExpressionVisitors, Projections}
import org.apache.iceberg.expressions.{ResidualEvaluator, UnboundPredicate}
import org.apache.iceberg.expressions.Expression.Operation

import zonemap.iceberg.convert.PartitionTuples

/**
 * Evaluates a filter exactly on partition tuples.
 *
 * @param cutTexts the positions of texts in a tuple that are parts of values
 */
private[zonemap] final class PartitionFilter private (spec: PartitionSpec, evaluator: Evaluator, cutTexts: Seq[Int]) {
  private val partitionType = spec.partitionType()

  def keeps(tuple: Array[AnyRef]): Boolean =
    cutTexts.exists(place => isReplaced(tuple(place))) ||
      evaluator.eval(PartitionTuples.toStruct(tuple, partitionType))

  /** Whether U+FFFD may stand for other bytes, which have another order (S69). */
  private def isReplaced(value: AnyRef): Boolean =
    value match {
      case text: CharSequence => text.toString.contains('\uFFFD')
      case _                  => false
    }
}

/**
 * Converts filters to conditions on partition tuples by Iceberg's projections. It corrects two mistakes of these
 * projections that lose rows or return rows that do not match (see S66, S67 in SOUNDNESS.md).
 */
private[zonemap] object PartitionFilter {

  /** `None` if the filter implies no condition on the partitions of `spec`. */
  def of(
      spec: PartitionSpec,
      filter: Expression,
      caseSensitive: Boolean,
      cutTexts: Seq[Int] = Nil): Option[PartitionFilter] = {
    val projected = project(spec, filter, caseSensitive)
    Option.when(projected != Expressions.alwaysTrue()) {
      new PartitionFilter(
        spec,
        new Evaluator(spec.partitionType(), ExpressionVisitors.visit(projected, NullRefuser), caseSensitive),
        cutTexts)
    }
  }

  /**
   * As [[of]], for a condition that Iceberg does not evaluate: a tuple is kept if it has a part of a text with U+FFFD.
   * Readers return the whole value of an identity partition as the tuple has it.
   */
  def ofDerived(spec: PartitionSpec, condition: Expression): Option[PartitionFilter] = {
    val cutTexts = spec.fields().asScala.zipWithIndex.collect {
      case (field, place) if !field.transform().isIdentity => place
    }
    of(spec, condition, caseSensitive = true, cutTexts.toSeq)
  }

  /**
   * The part of the filter that readers still have to evaluate, given the partition of a file. For NOT LIKE,
   * Iceberg's own result is correct for the retained files.
   */
  def residuals(spec: PartitionSpec, filter: Expression, caseSensitive: Boolean): ResidualEvaluator =
    if (holdsMiscounted(filter, Set(Operation.STARTS_WITH))) ResidualEvaluator.unpartitioned(filter)
    else ResidualEvaluator.of(spec, filter, caseSensitive)

  /** Whether the filter has an operation of which Iceberg cannot compute the residual for some null. */
  def mayFailOnNull(filter: Expression): Boolean = holds(filter, leaf => FailingOnNull(leaf.op()))

  /** Whether Iceberg fails to compute the residual of the files of a partition: IN and LIKE 'p%' do for a null text. */
  def failsOn(residuals: ResidualEvaluator, partition: StructLike): Boolean =
    try {
      residuals.residualFor(partition)
      false
    } catch { case NonFatal(_) => true }

  private def project(spec: PartitionSpec, filter: Expression, caseSensitive: Boolean): Expression = {
    val iceberg = Projections.inclusive(spec, caseSensitive)
    val leaves = Expressions.rewriteNot(filter)
    val projected =
      if (holdsMiscounted(filter)) ExpressionVisitors.visit(leaves, new PrefixProjection(iceberg))
      else iceberg.project(leaves)
    Expressions.rewriteNot(projected)
  }

  /** Whether a prefix has fewer characters than UTF-16 units: Iceberg counts the units instead of the characters. */
  def holdsMiscounted(filter: Expression, operations: Set[Operation] = Prefixes): Boolean =
    holds(filter, leaf => operations(leaf.op()) && isMiscounted(leaf))

  private def holds(filter: Expression, isWanted: UnboundPredicate[_] => Boolean): Boolean =
    ExpressionVisitors.visit(Expressions.rewriteNot(filter), new LeafFinder(isWanted))

  private val Prefixes = Set(Operation.STARTS_WITH, Operation.NOT_STARTS_WITH)
  private val FailingOnNull = Prefixes ++ Set(Operation.IN, Operation.NOT_IN)

  private def isMiscounted(leaf: UnboundPredicate[_]): Boolean =
    Prefixes(leaf.op()) && {
      val prefix = leaf.literal().value().toString
      prefix.codePointCount(0, prefix.length) < prefix.length
    }

  private final class LeafFinder(isWanted: UnboundPredicate[_] => Boolean)
      extends ExpressionVisitors.ExpressionVisitor[Boolean] {
    override def alwaysTrue(): Boolean = false
    override def alwaysFalse(): Boolean = false
    override def and(left: Boolean, right: Boolean): Boolean = left || right
    override def or(left: Boolean, right: Boolean): Boolean = left || right
    override def predicate[T](leaf: UnboundPredicate[T]): Boolean = isWanted(leaf)
  }

  /** Rebuilds an expression that has no NOT, leaf by leaf. */
  private abstract class LeafRewriter extends ExpressionVisitors.ExpressionVisitor[Expression] {
    override def alwaysTrue(): Expression = Expressions.alwaysTrue()
    override def alwaysFalse(): Expression = Expressions.alwaysFalse()
    override def and(left: Expression, right: Expression): Expression = Expressions.and(left, right)
    override def or(left: Expression, right: Expression): Expression = Expressions.or(left, right)
  }

  /**
   * `truncate[W]` retains W characters. If a row starts with a prefix of fewer characters, its partition value
   * therefore starts with the prefix too. Iceberg treats a prefix of W UTF-16 units as a whole partition value and
   * tests for equality; this projection tests for the prefix.
   */
  private final class PrefixProjection(iceberg: Projections.ProjectionEvaluator) extends LeafRewriter {
    override def predicate[T](leaf: UnboundPredicate[T]): Expression = {
      val projected = iceberg.project(leaf)
      if (isMiscounted(leaf)) ExpressionVisitors.visit(projected, PrefixOfValue) else projected
    }
  }

  private object PrefixOfValue extends LeafRewriter {
    override def predicate[T](leaf: UnboundPredicate[T]): Expression =
      leaf.op() match {
        case Operation.EQ     => Expressions.startsWith(leaf.ref().name(), leaf.literal().value().toString)
        case Operation.NOT_EQ => Expressions.notStartsWith(leaf.ref().name(), leaf.literal().value().toString)
        case _                => leaf
      }
  }

  /**
   * Makes comparisons false for a null partition value, which comes from null rows only: no comparison matches them.
   * Iceberg's evaluator sorts null below every value and so treats it as less than any literal, while the summaries
   * of its manifests do not. For a null, the evaluator's sets of strings throw; a null is in no set.
   */
  private object NullRefuser extends LeafRewriter {
    override def predicate[T](leaf: UnboundPredicate[T]): Expression =
      leaf.op() match {
        case Operation.LT | Operation.LT_EQ | Operation.IN =>
          Expressions.and(Expressions.notNull[T](leaf.ref().name()), leaf)
        case Operation.NOT_IN => Expressions.or(Expressions.isNull[T](leaf.ref().name()), leaf)
        case _                => leaf
      }
  }
}
