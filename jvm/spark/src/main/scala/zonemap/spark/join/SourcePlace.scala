// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.types.DataType

/**
 * A place of a plan that reads an RDD, or a relation of unknown size such as a JDBC table.
 *
 * @param needed the columns that the place uses
 * @param filters conditions on columns of `leaf`; the place uses only rows that satisfy them
 */
private[join] final class SourcePlace private (val leaf: LeafNode, needed: AttributeSet, filters: Seq[Expression]) {

  /** The columns that the place uses, as places among those of the leaf. */
  private def columns: Seq[Int] = leaf.output.indices.filter(i => needed.contains(leaf.output(i)))

  /**
   * The conditions on columns as places among those of the leaf. Conditions with one canonical form are equal; the form
   * itself cannot always be evaluated.
   */
  private val conditions: Seq[(Expression, Expression)] =
    filters
      .filter(filter => Repeatable.isRepeatable(filter) && !filter.exists(_.isInstanceOf[OuterReference]))
      .map(BindReferences.bindReference(_, leaf.output))
      .map(bound => bound.canonicalized -> bound)

  private def without(common: Set[Expression]): Seq[Expression] =
    conditions.collect { case (form, condition) if !common(form) => condition }
}

private[join] object SourcePlace {

  /** What a leaf reads: the RDD or the relation, and the columns. */
  type Source = (AnyRef, Seq[(String, DataType)])

  /** The place that consists of projections and filters above a source, if the plan is one. */
  def unapply(plan: LogicalPlan): Option[SourcePlace] =
    plan match {
      case PhysicalOperation(columns, filters, leaf: LeafNode) if sourceOf(leaf).isDefined =>
        val above = plan.collect { case node if node ne leaf => node.references }
        Some(new SourcePlace(leaf, AttributeSet.fromAttributeSets(columns.map(_.references) ++ above), filters))
      case _ => None
    }

  /** Returns what the leaf reads; `None` if it is neither an RDD nor a relation of unknown size. */
  def sourceOf(leaf: LogicalPlan): Option[Source] = {
    def source(read: AnyRef) = (read, leaf.output.map(column => (column.name, column.dataType)))
    leaf match {
      case rows: LogicalRDD                                                => Some(source(rows.rdd))
      case relation: LogicalRelation if HeldRows.isOfUnknownSize(relation) => Some(source(relation.relation))
      case _                                                               => None
    }
  }

  /** All places of a plan and of its subqueries, by what they read. */
  def in(plan: LogicalPlan): Map[Source, Seq[SourcePlace]] =
    of(plan).flatMap(place => sourceOf(place.leaf).map(_ -> place)).groupBy(_._1).map { case (source, places) =>
      source -> places.map(_._2)
    }

  private def of(plan: LogicalPlan): Seq[SourcePlace] =
    plan match {
      case SourcePlace(place) => place +: plan.collect { case node => node.subqueries }.flatten.flatMap(of)
      case other              => (other.children ++ other.subqueries).flatMap(of)
    }

  /** The rows of one source that its places use. */
  final class Shared(places: Seq[SourcePlace]) {
    private val columns = places.flatMap(_.columns).distinct.sorted

    /** The rows that satisfy the conditions of any place, with the columns that any place uses. */
    def query: LogicalPlan = {
      val leaf = places.head.leaf
      val common = places.map(_.conditions.map(_._1).toSet).reduce(_ intersect _)
      val shared = places.head.conditions.collect { case (form, condition) if common(form) => condition }
      val others = places.map(_.without(common))
      val either = if (others.exists(_.isEmpty)) None else others.map(_.reduce(And(_, _))).reduceOption(Or(_, _))
      val condition = (shared ++ either)
        .reduceOption(And(_, _))
        .map(_.transform { case BoundReference(i, _, _) =>
          leaf.output(i)
        })
      Project(columns.map(leaf.output), condition.fold[LogicalPlan](leaf)(Filter(_, leaf)))
    }

    /** Returns rows of the query as those of the source at any place, by the leaf there. */
    def at(rows: LocalRelation): LogicalPlan => LogicalPlan =
      leaf => LocalRelation(columns.map(leaf.output), rows.data)
  }
}
