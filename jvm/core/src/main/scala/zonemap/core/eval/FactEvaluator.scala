package zonemap.core.eval

import zonemap.core.fact.{Fact, FactKind}
import zonemap.core.predicate._
import zonemap.core.value.ColumnType

/** The facts about one data file. */
private[zonemap] trait FileFacts {
  def find(column: ColumnId, kind: FactKind): Option[Fact]
}

/**
 * Asks a predicate of the facts about files that bounds have left over. A leaf is NONE if the bounds or a fact prove it;
 * AND is NONE if a child is, OR if all are. Nothing is ever proven to be ALL. Not thread-safe; make one a plan with
 * [[FactEvaluator.of]].
 */
final private[zonemap] class FactEvaluator private (root: FactNode) {

  /** What may be asked for: columns and kinds. */
  val wanted: Set[(ColumnId, FactKind)] = root.wanted

  /**
   * Proven: no row of the file matches.
   *
   * @param byBounds what the bounds of the file say of a part of the predicate
   */
  def excludes(facts: FileFacts, byBounds: Predicate => Match): Boolean = root.excludes(facts, byBounds)
}

private[zonemap] object FactEvaluator {

  /** None if only facts that nobody has could tell more than bounds do. */
  def of(predicate: Predicate, known: Set[(ColumnId, FactKind)]): Option[FactEvaluator] =
    compile(predicate, known).map(new FactEvaluator(_))

  private def compile(predicate: Predicate, known: Set[(ColumnId, FactKind)]): Option[FactNode] = predicate match {
    case And(children) =>
      val (leaves, others) = children.partitionMap {
        case leaf: Leaf => Left(leaf)
        case other      => Right(other)
      }
      val nodes = leaves.groupBy(_.column.id).toSeq.flatMap { case (column, all) => ofColumn(column, all, known) } ++
        others.flatMap(compile(_, known))
      Option.when(nodes.nonEmpty)(new AnyExcludes(nodes))
    case Or(children) =>
      val nodes = children.map(child => (child, compile(child, known)))
      Option.when(nodes.exists(_._2.isDefined))(new AllExclude(nodes))
    case leaf: Leaf                                          => ofColumn(leaf.column.id, Seq(leaf), known).headOption
    case True | False | Unknown(_) | CompareColumns(_, _, _) => None
  }

  /**
   * AND of leaves about one column. What its rows hold is asked of all of them together: no value may satisfy each leaf
   * though each leaf is satisfied by some.
   */
  private def ofColumn(column: ColumnId, leaves: Seq[Leaf], known: Set[(ColumnId, FactKind)]): Seq[FactNode] = {
    val asked = leaves.map(leaf => (leaf, new FactLeaf(leaf)))
    def answers(leaf: FactLeaf, kind: FactKind) = known((column, kind)) && leaf.kinds.contains(kind)
    val together = FactLeaf.kindsOfCells
      .map(kind => (kind, asked.filter { case (_, leaf) => answers(leaf, kind) }))
      .filter(_._2.size > 1)
    val areTogether = together.iterator.map(_._1).toSet
    val alone = asked.flatMap { case (_, leaf) =>
      val kinds = leaf.kinds.filter(kind => answers(leaf, kind) && !areTogether(kind))
      Option.when(kinds.nonEmpty)(new LeafExcludes(column, kinds, leaf))
    }
    together.map { case (kind, leaves) => new LeavesExclude(column, kind, leaves) } ++ alone
  }
}

sealed private trait FactNode {
  def wanted: Set[(ColumnId, FactKind)]
  def excludes(facts: FileFacts, byBounds: Predicate => Match): Boolean
}

final private class LeafExcludes(column: ColumnId, kinds: Seq[FactKind], leaf: FactLeaf) extends FactNode {
  override val wanted: Set[(ColumnId, FactKind)] = kinds.iterator.map(column -> _).toSet

  override def excludes(facts: FileFacts, byBounds: Predicate => Match): Boolean =
    kinds.exists(kind => facts.find(column, kind).exists(leaf.isExcludedBy))
}

/** AND of leaves about one column: each of its values fails one of them. */
final private class LeavesExclude(column: ColumnId, kind: FactKind, leaves: Seq[(Leaf, FactLeaf)]) extends FactNode {
  override val wanted: Set[(ColumnId, FactKind)] = Set((column, kind))

  override def excludes(facts: FileFacts, byBounds: Predicate => Match): Boolean =
    facts.find(column, kind).exists { known =>
      val asked = leaves.collect {
        case (leaf, asked) if ColumnType.comparable(known.columnType, leaf.column.columnType) => asked
      }
      FactLeaf.cells(known).forall(cell => asked.exists(_.isExcludedFor(known.columnType, cell)))
    }
}

/** AND. The bounds were asked before. */
final private class AnyExcludes(nodes: Seq[FactNode]) extends FactNode {
  override val wanted: Set[(ColumnId, FactKind)] = nodes.iterator.flatMap(_.wanted).toSet

  override def excludes(facts: FileFacts, byBounds: Predicate => Match): Boolean =
    nodes.exists(_.excludes(facts, byBounds))
}

/** OR: bounds may prove one child and a fact another. */
final private class AllExclude(nodes: Seq[(Predicate, Option[FactNode])]) extends FactNode {
  override val wanted: Set[(ColumnId, FactKind)] = nodes.iterator.flatMap(_._2).flatMap(_.wanted).toSet

  override def excludes(facts: FileFacts, byBounds: Predicate => Match): Boolean =
    nodes.forall { case (predicate, node) =>
      byBounds(predicate) == Match.None || node.exists(_.excludes(facts, byBounds))
    }
}
