// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.spark.sql.catalyst.expressions.{AttributeReference, DynamicPruningExpression, Expression}
import org.apache.spark.sql.catalyst.expressions.{PlanExpression, SortOrder}
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory, Scan}
import org.apache.spark.sql.execution.{InSubqueryExec, SQLExecution, ScalarSubquery}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/**
 * Spark's own node of a scan, with the metrics of [[ScanMetrics]] besides those of Iceberg's scan. It plans, reads and
 * compares like Spark's node; a copy of it is of this class too. Spark passes runtime filters of columns only to a
 * scan, so this node renames a filtered expression to the column that the scan knows it by, and passes the value of a
 * condition's subquery as a value of such a column.
 */
private[zonemap] final class PrunedScanExec(
    columns: Seq[AttributeReference],
    pruned: Scan,
    filters: Seq[Expression],
    sorted: Option[Seq[SortOrder]],
    source: Table,
    joined: SparkMinor.JoinParams)
    extends BatchScanExec(columns, pruned, filters.map(PrunedScanExec.passed(pruned, _)), sorted, source, joined) {

  @transient private var replaced: Option[BatchScanExec] = None

  /** Spark's node, which this node replaces, has planned its partitions already, to choose between rows and columns. */
  @transient override lazy val inputPartitions: Seq[InputPartition] =
    replaced.fold(batch.planInputPartitions().toIndexedSeq: Seq[InputPartition])(_.inputPartitions)

  @transient override lazy val batch: Batch = if (pruned == null) null else IndexedBatch.of(pruned)

  override lazy val readerFactory: PartitionReaderFactory =
    replaced.fold(batch.createReaderFactory())(_.readerFactory)

  override lazy val customMetrics: Map[String, SQLMetric] = {
    val ofIceberg = scan.supportedCustomMetrics().map(m => m.name() -> SQLMetrics.createV2CustomMetric(sparkContext, m))
    ofIceberg.toMap ++
      Guarded.orNothing("metrics of its scan")(Some(ScanMetrics.of(scan, sparkContext))).getOrElse(Map.empty)
  }

  override def postDriverMetrics(): Unit = {
    super.postDriverMetrics()
    Guarded.orNothing("values in the metrics of its scan") {
      val known = ScanMetrics.values(scan).flatMap { case (name, value) => metrics.get(name).map(_ -> value) }
      known.foreach { case (metric, value) => metric.set(value) }
      val execution = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
      SQLMetrics.postDriverMetricUpdates(sparkContext, execution, known.keys.toSeq)
      Some(())
    }: Unit
  }

  /** A task may contain the plan of a subquery. Executors then get Spark's node, so they need no class of zonemap. */
  private def writeReplace(): AnyRef = BatchScanExec(columns, pruned, filters, sorted, source, joined)

  override def copy(
      output: Seq[AttributeReference],
      scan: Scan,
      runtimeFilters: Seq[Expression],
      ordering: Option[Seq[SortOrder]],
      table: Table,
      spjParams: SparkMinor.JoinParams): BatchScanExec =
    new PrunedScanExec(output, scan, runtimeFilters, ordering, table, spjParams)
}

private[zonemap] object PrunedScanExec {

  private def passed(scan: Scan, filter: Expression): Expression =
    (scan, filter) match {
      case (ours: ForwardingScan, DynamicPruningExpression(in: InSubqueryExec)) =>
        ours.passedAs(in.child).fold(filter)(column => DynamicPruningExpression(in.copy(child = column)))
      case (ours: ForwardingScan, DynamicPruningExpression(condition)) =>
        val passed = for {
          subquery <- plannedSubquery(condition)
          column <- ours.passedAs(condition)
        } yield DynamicPruningExpression(InSubqueryExec(column, subquery.plan, subquery.exprId))
        passed.getOrElse(filter)
      case _ => filter
    }

  private def plannedSubquery(condition: Expression): Option[ScalarSubquery] =
    Some(condition.collect { case subquery: PlanExpression[_] => subquery }).collect { case Seq(one: ScalarSubquery) =>
      one
    }

  /** The node that replaces `node`, whose scan reads like `scan`. */
  def of(node: BatchScanExec, scan: Scan): PrunedScanExec = {
    val made = new PrunedScanExec(node.output, scan, node.runtimeFilters, node.ordering, node.table, node.spjParams)
    made.replaced = Some(node)
    made
  }
}
