// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.shadow

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.expressions.aggregate.Count
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LeafNode, LogicalPlan, Statistics}
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.types.IntegerType

import zonemap.spark.scan.{IcebergScans, UncachedExecution}
import zonemap.spark.scan.SparkMinor.ClassicSession

/**
 * Reads data files that a plan pruned, and counts the rows in them that satisfy the conditions of the query. Spark
 * evaluates the conditions, in a session without zonemap, and none of them reaches Iceberg's scan.
 *
 * @param plain a session without zonemap
 * @param plan the analyzed plan of the query, with pinned snapshots
 */
private[shadow] final class PrunedFiles(plain: ClassicSession, plan: LogicalPlan) {
  import PrunedFiles._

  /** The conditions on each relation after Spark has pushed filters down, by the ids of its columns. */
  private lazy val conditions: Map[Set[ExprId], Seq[(Opaque, Seq[Expression])]] = {
    val opaque = plan.transformWithSubqueries { case relation: DataSourceV2Relation => Opaque(relation) }
    SparkSession.setActiveSession(plain)
    val found = Seq.newBuilder[(Opaque, Seq[Expression])]
    def visit(node: LogicalPlan): Unit =
      node match {
        case PhysicalOperation(_, filters, leaf: Opaque) => found += leaf -> filters
        case other                                       => other.children.foreach(visit)
      }
    val optimized = plain.sessionState.optimizer.execute(opaque)
    visit(optimized)
    optimized.subqueriesAll.foreach(visit)
    found.result().groupBy(_._1.ids)
  }

  /** The conditions on a relation; `Left` with the reason if they are not known. */
  def conditionsOf(relation: DataSourceV2Relation): Either[String, (DataSourceV2Relation, Seq[Expression])] =
    conditions.get(relation.output.map(_.exprId).toSet) match {
      case Some(Seq((leaf, filters))) =>
        Right((leaf.relation, filters.filter(f => f.deterministic && !SubqueryExpression.hasSubquery(f))))
      case Some(_) => Left("the query uses its relation more than once")
      case None    => Left("Spark's optimizer changes its relation")
    }

  /** The rows in these files of the relation for which all conditions are TRUE. Starts one Spark job. */
  def matching(relation: DataSourceV2Relation, conditions: Seq[Expression], paths: Set[String]): Long = {
    SparkSession.setActiveSession(plain)
    val filtered = conditions.reduceOption(And(_, _)).fold[LogicalPlan](relation)(c => Filter(unpushed(c), relation))
    val count = Aggregate(Nil, Seq(Alias(Count(Literal(1)).toAggregateExpression(), "rows")()), filtered)
    val query = new UncachedExecution(plain, count)
    query.optimizedPlan.foreach {
      case scan: DataSourceV2ScanRelation => retain(scan, paths)
      case _                              => ()
    }
    SQLExecution.withNewExecutionId(query, Some("zonemap.verify"))(
      query.executedPlan.executeCollectPublic().head.getLong(0))
  }

  /** The same condition in a form of which no part reaches Iceberg's scan, because it is not deterministic. */
  private def unpushed(condition: Expression): Expression = {
    val zero = Cast(Rand(0L), IntegerType)
    EqualTo(Add(If(condition, Literal(1), Literal(0)), zero), Literal(1))
  }

  private def retain(scan: DataSourceV2ScanRelation, paths: Set[String]): Unit = {
    val tasks = IcebergScans
      .fileTasks(scan.scan)
      .getOrElse(throw new IllegalStateException("The scan of the pruned files is not one of data files."))
    val others = new java.util.HashSet[String]
    tasks.foreach(task => if (!paths(task.file().location())) others.add(task.file().location()): Unit)
    IcebergScans.remove(scan.scan, others): Unit
  }
}

private object PrunedFiles {

  /** Hides a relation from rules that plan scans, while the optimizer pushes filters down to it. */
  private final case class Opaque(relation: DataSourceV2Relation) extends LeafNode {
    override def output: Seq[Attribute] = relation.output
    override def computeStats(): Statistics = Statistics(sizeInBytes = BigInt(Long.MaxValue))
    def ids: Set[ExprId] = output.map(_.exprId).toSet
  }
}
