// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import zonemap.core.eval.FactEvaluator
import zonemap.core.predicate._
import zonemap.iceberg.plan.{IndexQuestions, PinnedRelation}
import zonemap.iceberg.report.PlanReport

/**
 * Finds the partitions, bounds and facts that can evaluate a predicate, for EXPLAIN. It reads no byte of a store.
 *
 * @param isOfFiles whether some planned file may have the fact with this name
 */
private[explain] final class ConditionMeans(relation: PinnedRelation, isOfFiles: String => Boolean) {
  import ConditionMeans._

  /** The means by which files can be pruned; none if no file can be. */
  def of(predicate: Predicate): Seq[String] = {
    val all = meansOf(predicate)
    all.filter(means => means.fact.forall(isOfFiles)).map(_.text).distinct
  }

  /** The columns of the leaves that nothing can evaluate. */
  def lacking(predicate: Predicate): Seq[ColumnRef] =
    (predicate match {
      case And(children)                                       => children.flatMap(lacking)
      case Or(children)                                        => children.flatMap(lacking)
      case leaf: Leaf if meansOf(leaf).isEmpty                 => Seq(leaf.column)
      case CompareColumns(left, _, right)                      => Seq(left, right).filter(ofColumn(_).isEmpty)
      case Evaluated(columns, _) if meansOf(predicate).isEmpty => columns
      case AnyElement(_) if meansOf(predicate).isEmpty         => Predicate.columns(predicate)
      case _                                                   => Nil
    }).distinct

  private def meansOf(predicate: Predicate): Seq[Means] =
    predicate match {
      case And(children) => children.flatMap(meansOf)
      case Or(children) =>
        val each = children.map(meansOf)
        // the facts of a child are looked up only if the children before it match no row
        if (each.exists(_.isEmpty)) Nil else each.flatten.map(_.copy(fact = None))
      case leaf: Contains        => ofFacts(leaf, leaf.column)
      case leaf: Leaf            => ofColumn(leaf.column) ++ ofFacts(leaf, leaf.column)
      case Evaluated(columns, _) => columns.flatMap(c => ofColumn(c) ++ ofFacts(predicate, c))
      case AnyElement(_)         => Predicate.columns(predicate).distinctBy(_.id).flatMap(ofFacts(predicate, _))
      case CompareColumns(left, _, right) =>
        val each = Seq(left, right).map(ofColumn)
        if (each.exists(_.isEmpty)) Nil else each.flatten
      case True | False | Unknown(_) => Nil
    }

  private def ofColumn(column: ColumnRef): Seq[Means] = {
    val known = IndexQuestions.known(relation, column)
    Option.when(known.partitions)(Means(s"partitions of ${column.name}")).toSeq ++
      Option.when(known.bounds)(Means(s"bounds of ${column.name}"))
  }

  private def ofFacts(predicate: Predicate, column: ColumnRef): Seq[Means] =
    FactEvaluator
      .of(predicate, IndexQuestions.factsOf(relation, column.id).map(kind => (column.id, kind)))
      .toSeq
      .flatMap(_.wanted)
      .sortBy { case (_, kind) => kind.code }
      .map { case (_, kind) => s"${kind.name}(${column.name})" }
      .map(fact => Means(s"the fact $fact", Some(fact)))
}

private[explain] object ConditionMeans {

  /**
   * Whether some planned file may have a fact. A file that is kept had each of its facts looked up; a file that was
   * pruned by one of them may have others.
   */
  def isOfPlan(report: PlanReport)(fact: String): Boolean =
    report.facts.exists(found => found.kept == 0 || found.answered.contains(fact))

  /** @param fact the name of the fact, if files without the fact cannot be pruned */
  private final case class Means(text: String, fact: Option[String] = None)
}
