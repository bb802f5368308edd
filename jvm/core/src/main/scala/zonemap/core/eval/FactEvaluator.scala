// SPDX-License-Identifier: Apache-2.0
package zonemap.core.eval

import java.util.BitSet

import zonemap.core.fact.{Fact, FactKind, KeyIndex, KnownValues}
import zonemap.core.predicate._
import zonemap.core.rule.Match
import zonemap.core.value.{ColumnType, ZoneValue, ZoneValues}

/** Looks up the facts that the index has about one data file, besides its bounds. */
private[zonemap] trait FactLookup {
  def find(column: ColumnId, kind: FactKind): Option[Fact]

  /**
   * All values that the rows of the file can hold in a column, if the column holds at most one value; the sequence
   * holds null if rows may be NULL. None if the values are not known.
   */
  def held(column: ColumnRef): Option[Seq[ZoneValue]] = None

  /** The values that the rows of the file can hold in a column at most. None if nothing is known. */
  def span(column: ColumnRef): Option[ColumnSpan] = None
}

/**
 * Evaluates a predicate on the facts about files that bounds did not prune, and on the values of columns that hold at
 * most one value. A leaf is NONE if the bounds or a fact prove it; AND is NONE if a child is, and OR is NONE if all
 * children are. The evaluator never proves ALL. Not thread-safe; make one per plan with [[FactEvaluator.of]].
 */
final private[zonemap] class FactEvaluator private (root: FactNode) {

  /** The facts that the evaluation may look up, as columns and kinds. */
  val wanted: Set[(ColumnId, FactKind)] = root.wanted

  /** Conditions that each matching row meets, and that an index of keys can refute for many files at once. */
  val keyed: Seq[KeyCondition] = FactEvaluator.keyed(root)

  /**
   * True if it is proven that no row of the file matches.
   *
   * @param byBounds evaluates a part of the predicate on the bounds of the file
   */
  def excludes(facts: FactLookup, byBounds: Predicate => Match): Boolean = root.excludes(facts, byBounds)
}

/** A condition on single values of one column. Not thread-safe. */
final private[zonemap] class KeyCondition(val column: ColumnId, leaf: FactLeaf) {

  /**
   * The ordinals of the data files of an index, stored as this type, that may have a matching row; None if nothing is
   * proven.
   */
  def candidates(stored: ColumnType, keys: KeyIndex): Option[BitSet] = leaf.candidates(stored, keys)
}

private[zonemap] object FactEvaluator {

  private def keyed(node: FactNode): Seq[KeyCondition] = node match {
    case any: AnyExcludes                                           => any.nodes.flatMap(keyed)
    case element: ElementExcludes                                   => keyed(element.node)
    case alone: LeafExcludes if alone.kinds.contains(FactKind.Keys) => Seq(new KeyCondition(alone.column, alone.leaf))
    case _                                                          => Nil
  }

  /**
   * The evaluator of a predicate; None if it could prove nothing that bounds do not prove, because the predicate holds
   * no condition to evaluate and no fact in `known` may prove one of its leaves.
   */
  def of(predicate: Predicate, known: Set[(ColumnId, FactKind)]): Option[FactEvaluator] =
    new FactEvaluatorBuilder(known, new FactWorkLimit).compile(predicate).map(new FactEvaluator(_))
}

/**
 * @param known the columns and kinds of the facts that there are
 * @param work what all leaves of the predicate may spend together
 */
final private class FactEvaluatorBuilder(known: Set[(ColumnId, FactKind)], work: FactWorkLimit) {

  def compile(predicate: Predicate): Option[FactNode] = predicate match {
    case And(children) =>
      val (leaves, others) = children.partitionMap {
        case leaf: Leaf => Left(leaf)
        case other      => Right(other)
      }
      // conditions go first, because they need only single values, which are in memory, while facts must be looked up
      val (conditions, rest) = others.partition(_.isInstanceOf[Evaluated])
      val nodes = conditions.flatMap(compile) ++
        leaves.groupBy(_.column.id).toSeq.flatMap { case (column, all) => ofColumn(column, all) } ++
        rest.flatMap(compile)
      Option.when(nodes.nonEmpty)(new AnyExcludes(nodes))
    case Or(children) =>
      val nodes = children.map(child => (child, compile(child)))
      Option.when(nodes.exists(_._2.isDefined))(new AllExclude(nodes))
    case leaf: Leaf                                          => ofColumn(leaf.column.id, Seq(leaf)).headOption
    case evaluated: Evaluated                                => Some(new ConditionExcludes(evaluated, known))
    case AnyElement(condition)                               => compile(condition).map(new ElementExcludes(_))
    case True | False | Unknown(_) | CompareColumns(_, _, _) => None
  }

  /**
   * AND of leaves about one column. A fact that lists the column's values is evaluated on all leaves together, because
   * it may hold that every value fails some leaf though each leaf matches some value.
   */
  private def ofColumn(column: ColumnId, leaves: Seq[Leaf]): Seq[FactNode] = {
    val factLeaves = leaves.map(leaf => (leaf, new FactLeaf(leaf, work)))
    def answers(leaf: FactLeaf, kind: FactKind) = known((column, kind)) && leaf.kinds.contains(kind)
    val together = FactLeaf.kindsOfCells
      .map(kind => (kind, factLeaves.filter { case (_, leaf) => answers(leaf, kind) }))
      .filter(_._2.size > 1)
    val areTogether = together.iterator.map(_._1).toSet
    val alone = factLeaves.flatMap { case (_, leaf) =>
      val kinds = leaf.kinds.filter(kind => answers(leaf, kind) && !areTogether(kind))
      Option.when(kinds.nonEmpty)(new LeafExcludes(column, kinds, leaf))
    }
    together.map { case (kind, leaves) => new LeavesExclude(column, kind, leaves) } ++ alone
  }
}

sealed private trait FactNode {
  def wanted: Set[(ColumnId, FactKind)]
  def excludes(facts: FactLookup, byBounds: Predicate => Match): Boolean
}

final private class LeafExcludes(val column: ColumnId, val kinds: Seq[FactKind], val leaf: FactLeaf) extends FactNode {
  override val wanted: Set[(ColumnId, FactKind)] = kinds.iterator.map(column -> _).toSet

  override def excludes(facts: FactLookup, byBounds: Predicate => Match): Boolean =
    kinds.exists(kind => facts.find(column, kind).exists(leaf.isExcludedBy))
}

/** AND of leaves about one column: proven if each value that the column holds fails at least one leaf. */
final private class LeavesExclude(column: ColumnId, kind: FactKind, leaves: Seq[(Leaf, FactLeaf)]) extends FactNode {
  override val wanted: Set[(ColumnId, FactKind)] = Set((column, kind))

  override def excludes(facts: FactLookup, byBounds: Predicate => Match): Boolean =
    facts.find(column, kind).exists { known =>
      val comparable = leaves.collect {
        case (leaf, fact) if ColumnType.comparable(known.columnType, leaf.column.columnType) => fact
      }
      FactLeaf.cells(known).forall(cell => comparable.exists(_.isExcludedFor(known.columnType, cell)))
    }
}

/** AND. The bounds were evaluated before, so only facts are evaluated here. */
final private class AnyExcludes(val nodes: Seq[FactNode]) extends FactNode {
  override val wanted: Set[(ColumnId, FactKind)] = nodes.iterator.flatMap(_.wanted).toSet

  override def excludes(facts: FactLookup, byBounds: Predicate => Match): Boolean =
    nodes.exists(_.excludes(facts, byBounds))
}

/** OR. Bounds may prove one child and a fact may prove another. */
final private class AllExclude(nodes: Seq[(Predicate, Option[FactNode])]) extends FactNode {
  override val wanted: Set[(ColumnId, FactKind)] = nodes.iterator.flatMap(_._2).flatMap(_.wanted).toSet

  override def excludes(facts: FactLookup, byBounds: Predicate => Match): Boolean =
    nodes.forall { case (predicate, node) =>
      byBounds(predicate) == Match.None || node.exists(_.excludes(facts, byBounds))
    }
}

/**
 * A condition on an element of lists or maps: proven if no element of the file meets it. Leaves about one column in two
 * such conditions stay apart, because two elements of one row may meet them. Bounds are those of whole columns.
 */
final private class ElementExcludes(val node: FactNode) extends FactNode {
  override val wanted: Set[(ColumnId, FactKind)] = node.wanted

  override def excludes(facts: FactLookup, byBounds: Predicate => Match): Boolean =
    node.excludes((column, kind) => facts.find(column, kind), _ => Match.Some)
}

/**
 * Proves that a condition is TRUE for no combination of the values that the file holds in its columns, or that lie
 * within the spans of its columns. SOUNDNESS, S60 to S64 and S194.
 */
final private class ConditionExcludes(evaluated: Evaluated, known: Set[(ColumnId, FactKind)]) extends FactNode {

  override val wanted: Set[(ColumnId, FactKind)] =
    evaluated.columns.iterator.map(column => (column.id, FactKind.Values: FactKind)).filter(known).toSet

  /** Results by the identity of the list of values: files with the same values often share one list object. */
  private val answers = new java.util.IdentityHashMap[Seq[ZoneValue], java.lang.Boolean]

  override def excludes(facts: FactLookup, byBounds: Predicate => Match): Boolean =
    if (evaluated.columns.size == 1)
      heldIn(facts, evaluated.columns.head) match {
        case Some(values) =>
          val before = answers.get(values)
          if (before != null) before
          else {
            val answer = refutes(List(values))
            if (answers.size < RowCondition.MaxKnown) answers.put(values, answer)
            answer
          }
        case None => refutesWithin(facts)
      }
    else {
      val held = evaluated.columns.iterator.map(heldIn(facts, _)).takeWhile(_.isDefined).flatten.toList
      if (held.size == evaluated.columns.size) refutes(held) else refutesWithin(facts)
    }

  private def refutesWithin(facts: FactLookup): Boolean =
    evaluated.condition.isBounded && {
      val spans = evaluated.columns.flatMap(facts.span)
      spans.size == evaluated.columns.size && !evaluated.condition.mayHoldWithin(spans)
    }

  private def refutes(held: List[Seq[ZoneValue]]): Boolean =
    held.map(_.size.toLong).product <= ConditionExcludes.MaxCombinations &&
      combinations(held).forall(!evaluated.condition.mayHold(_))

  private def heldIn(facts: FactLookup, column: ColumnRef): Option[Seq[ZoneValue]] =
    facts.held(column).orElse {
      if (wanted((column.id, FactKind.Values))) facts.find(column.id, FactKind.Values).flatMap(valuesOf(_, column))
      else None
    }

  /**
   * The values of a fact; None if the fact includes NaN, which is not a value of the index, or a floating-point zero,
   * which may be 0.0 or -0.0.
   */
  private def valuesOf(fact: Fact, column: ColumnRef): Option[Seq[ZoneValue]] = fact match {
    case KnownValues(stored, values, hasNulls, false)
        if ColumnType.comparable(stored, column.columnType) && stored.encoding == column.columnType.encoding &&
          !(stored.mayHoldNaN && values.contains(ConditionExcludes.Zero)) =>
      Some(values.iterator.toSeq ++ Option.when(hasNulls)(null))
    case _ => None
  }

  private def combinations(held: List[Seq[ZoneValue]]): Iterator[List[ZoneValue]] = held match {
    case Nil           => Iterator.single(Nil)
    case first :: rest => first.iterator.flatMap(value => combinations(rest).map(value :: _))
  }
}

private object ConditionExcludes {
  private val MaxCombinations = 1024L
  private val Zero = ZoneValues.ofDouble(0)
}
