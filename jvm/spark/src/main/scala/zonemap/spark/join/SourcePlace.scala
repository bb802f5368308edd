// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.types.DataType

/**
 * A place of a plan that reads an RDD, or a relation of unknown size such as a JDBC table: projections and filters above
 * a leaf.
 *
 * A relation may evaluate a condition itself, in another way than Spark: `code = 'ab'` selects 'AB' too in a database
 * that ignores case. So a condition of a relation is a part of what is read, and Spark does not evaluate it again.
 *
 * @param source what the leaf reads
 * @param read the conditions that belong to what is read, without tests for null, which are the same everywhere
 */
private[join] final class SourcePlace private (
    source: AnyRef,
    private val leaf: LeafNode,
    columns: Seq[NamedExpression],
    private val used: AttributeSet,
    read: Seq[Expression],
    others: Seq[Expression]) {

  /** Equal for places that read the same: the source, its columns, and the conditions. */
  val key: SourcePlace.Key = (
    source,
    leaf.output.map(column => (column.name, column.dataType)),
    read.map(BindReferences.bindReference(_, leaf.output).canonicalized).toSet)

  private def usedOf(places: Seq[SourcePlace]): Seq[Int] =
    leaf.output.indices.filter(i => places.exists(place => place.used.contains(place.leaf.output(i))))

  /** What is read, with the columns that any of the places with this key uses. */
  def query(places: Seq[SourcePlace]): LogicalPlan =
    Project(usedOf(places).map(leaf.output), filtered(read, leaf))

  /** This place over the rows of [[query]]. */
  def over(places: Seq[SourcePlace], rows: LocalRelation): LogicalPlan =
    Project(columns, filtered(others, LocalRelation(usedOf(places).map(leaf.output), rows.data)))

  private def filtered(conditions: Seq[Expression], child: LogicalPlan): LogicalPlan =
    conditions.reduceOption(And(_, _)).fold(child)(Filter(_, child))
}

private[join] object SourcePlace {

  type Key = (AnyRef, Seq[(String, DataType)], Set[Expression])

  def unapply(plan: LogicalPlan): Option[SourcePlace] =
    plan match {
      case PhysicalOperation(columns, filters, leaf: LeafNode) =>
        val above = plan.collect { case node if node ne leaf => node.references }
        val used = AttributeSet.fromAttributeSets(columns.map(_.references) ++ above)
        leaf match {
          case rows: LogicalRDD => Some(new SourcePlace(rows.rdd, leaf, columns, used, Nil, filters))
          case relation: LogicalRelation if HeldRows.isOfUnknownSize(relation) =>
            val (read, others) = filters.partition(isRead)
            Some(new SourcePlace(relation.relation, leaf, columns, used, read, others))
          case _ => None
        }
      case _ => None
    }

  private def isRead(condition: Expression): Boolean =
    condition match {
      case IsNotNull(_) => false
      case other        => Repeatable.isRepeatable(other) && !other.exists(_.isInstanceOf[OuterReference])
    }

  /** All places of a plan and of its subqueries. */
  def in(plan: LogicalPlan): Seq[SourcePlace] =
    plan match {
      case SourcePlace(place) => place +: plan.collect { case node => node.subqueries }.flatten.flatMap(in)
      case other              => (other.children ++ other.subqueries).flatMap(in)
    }
}
