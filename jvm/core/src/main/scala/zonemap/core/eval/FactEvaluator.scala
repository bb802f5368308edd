package zonemap.core.eval

import zonemap.core.fact.{Fact, FactKind, KnownValues}
import zonemap.core.predicate._
import zonemap.core.value.ColumnType

/** The facts about one data file. */
private[zonemap] trait FileFacts {
  def find(fieldId: Int, kind: FactKind): Option[Fact]
}

/**
 * Asks a predicate of the facts about files that bounds have left over. A leaf is NONE if the bounds or a fact prove it;
 * AND is NONE if a child is, OR if all are. Nothing is ever proven to be ALL. Not thread-safe; make one a plan with
 * [[FactEvaluator.of]].
 */
final private[zonemap] class FactEvaluator private (root: FactNode) {

  /** What may be asked for: field ids and kinds. */
  val wanted: Set[(Int, FactKind)] = root.wanted

  /**
   * Proven: no row of the file matches.
   *
   * @param byBounds what the bounds of the file say of a part of the predicate
   */
  def excludes(facts: FileFacts, byBounds: Predicate => Match): Boolean = root.excludes(facts, byBounds)
}

private[zonemap] object FactEvaluator {

  /** None if only facts that nobody has could tell more than bounds do. */
  def of(predicate: Predicate, known: Set[(Int, FactKind)]): Option[FactEvaluator] =
    compile(predicate, known).map(new FactEvaluator(_))

  private def compile(predicate: Predicate, known: Set[(Int, FactKind)]): Option[FactNode] = predicate match {
    case And(children) =>
      val nodes = children.flatMap(compile(_, known)) ++ together(children, known)
      Option.when(nodes.nonEmpty)(new AnyExcludes(nodes))
    case Or(children) =>
      val nodes = children.map(child => (child, compile(child, known)))
      Option.when(nodes.exists(_._2.isDefined))(new AllExclude(nodes))
    case leaf: Leaf =>
      val asked = new FactLeaf(leaf)
      val kinds = asked.kinds.filter(kind => known((leaf.column.fieldId, kind)))
      Option.when(kinds.nonEmpty)(new LeafExcludes(leaf.column.fieldId, kinds, asked))
    case True | False | Unknown(_) | CompareColumns(_, _, _) => None
  }

  /** Leaves about one column, which no value of it may satisfy together though each of them is satisfied by some. */
  private def together(children: Seq[Predicate], known: Set[(Int, FactKind)]): Seq[FactNode] =
    children
      .collect { case leaf: Leaf => leaf }
      .groupBy(_.column.fieldId)
      .toSeq
      .flatMap { case (fieldId, leaves) =>
        val asked = leaves.map(leaf => (leaf, new FactLeaf(leaf))).filter(_._2.kinds.contains(FactKind.Values))
        Option.when(asked.size > 1 && known((fieldId, FactKind.Values)))(new LeavesExclude(fieldId, asked))
      }
}

sealed private trait FactNode {
  def wanted: Set[(Int, FactKind)]
  def excludes(facts: FileFacts, byBounds: Predicate => Match): Boolean
}

final private class LeafExcludes(fieldId: Int, kinds: Seq[FactKind], leaf: FactLeaf) extends FactNode {
  override val wanted: Set[(Int, FactKind)] = kinds.iterator.map(fieldId -> _).toSet

  override def excludes(facts: FileFacts, byBounds: Predicate => Match): Boolean =
    kinds.exists(kind => facts.find(fieldId, kind).exists(leaf.isExcludedBy))
}

/** AND of leaves about one column: each of its values fails one of them. */
final private class LeavesExclude(fieldId: Int, leaves: Seq[(Leaf, FactLeaf)]) extends FactNode {
  override val wanted: Set[(Int, FactKind)] = Set((fieldId, FactKind.Values))

  override def excludes(facts: FileFacts, byBounds: Predicate => Match): Boolean =
    facts.find(fieldId, FactKind.Values).exists {
      case known: KnownValues =>
        val asked = leaves.collect {
          case (leaf, asked) if ColumnType.comparable(known.columnType, leaf.column.columnType) => asked
        }
        FactLeaf.cells(known).forall(cell => asked.exists(_.isExcludedFor(known.columnType, cell)))
      case _ => false
    }
}

/** AND. The bounds were asked before. */
final private class AnyExcludes(nodes: Seq[FactNode]) extends FactNode {
  override val wanted: Set[(Int, FactKind)] = nodes.iterator.flatMap(_.wanted).toSet

  override def excludes(facts: FileFacts, byBounds: Predicate => Match): Boolean =
    nodes.exists(_.excludes(facts, byBounds))
}

/** OR: bounds may prove one child and a fact another. */
final private class AllExclude(nodes: Seq[(Predicate, Option[FactNode])]) extends FactNode {
  override val wanted: Set[(Int, FactKind)] = nodes.iterator.flatMap(_._2).flatMap(_.wanted).toSet

  override def excludes(facts: FileFacts, byBounds: Predicate => Match): Boolean =
    nodes.forall { case (predicate, node) =>
      byBounds(predicate) == Match.None || node.exists(_.excludes(facts, byBounds))
    }
}
