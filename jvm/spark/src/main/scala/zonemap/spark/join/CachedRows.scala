// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, PlanExpression, SortOrder}
import org.apache.spark.sql.catalyst.planning.PhysicalOperation
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.columnar.{InMemoryRelation, InMemoryTableScanExec}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.vectorized.ColumnarBatch

import zonemap.spark.scan.Guarded
import zonemap.spark.scan.SparkMinor.ClassicSession

/**
 * Spark's scan of a cached table, in the broadcast side of a join whose keys prune. Adaptive execution makes a stage of
 * Spark's own node, and a stage never equals the plan that Spark looks for when it reuses the broadcast for its keys.
 * So Spark would drop the keys of each cached table. This node hides the scan from adaptive execution: the broadcast
 * reads the cache. Rows, batches and metrics are those of Spark's node. SOUNDNESS, S181.
 */
private[join] final case class CachedRowsExec(cached: InMemoryTableScanExec) extends LeafExecNode {
  override def output: Seq[Attribute] = cached.output
  override def nodeName: String = cached.nodeName
  override def outputPartitioning: Partitioning = cached.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = cached.outputOrdering
  override def supportsRowBased: Boolean = cached.supportsRowBased
  override def supportsColumnar: Boolean = cached.supportsColumnar
  override def vectorTypes: Option[Seq[String]] = cached.vectorTypes
  override def innerChildren: Seq[QueryPlan[_]] = cached.innerChildren
  override lazy val metrics: Map[String, SQLMetric] = cached.metrics

  override protected def doExecute(): RDD[InternalRow] = cached.execute()
  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = cached.executeColumnar()
  override protected def doCanonicalize(): SparkPlan =
    CachedRowsExec(cached.canonicalized.asInstanceOf[InMemoryTableScanExec])
  override protected def stringArgs: Iterator[Any] = Iterator(cached.attributes, cached.predicates)

  /** A task may contain the plan of a subquery. Executors then get Spark's node, so they need no class of zonemap. */
  private def writeReplace(): AnyRef = cached
}

private[join] object CachedRows {
  private val Tag = TreeNodeTag[Unit]("zonemap.keys-of-cached-rows")

  /** Marks the operators of a join's broadcast side. Spark copies a cache itself without its tags. */
  def mark(build: LogicalPlan): Unit = build.foreach(_.setTagValue(Tag, ()))

  def isMarked(plan: LogicalPlan): Boolean = plan.getTagValue(Tag).isDefined
}

/** Plans caches below operators that [[CachedRows]] marks as [[CachedRowsExec]]; Spark's strategy plans the scan. */
private[zonemap] final class CachedRowsStrategy(session: SparkSession) extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] =
    (plan, session) match {
      case (PhysicalOperation(_, _, _: InMemoryRelation), classic: ClassicSession)
          if SQLConf.get.adaptiveExecutionEnabled && CachedRows.isMarked(plan) =>
        Guarded
          .orNothing("pruning by the keys of a cached table") {
            Some(
              classic.sessionState.planner
                .InMemoryScans(plan)
                .map(_.transform {
                  // Spark plans the subqueries of the nodes that it sees
                  case scan: InMemoryTableScanExec
                      if !scan.predicates.exists(_.exists(_.isInstanceOf[PlanExpression[_]])) =>
                    CachedRowsExec(scan)
                }))
          }
          .getOrElse(Nil)
      case _ => Nil
    }
}
