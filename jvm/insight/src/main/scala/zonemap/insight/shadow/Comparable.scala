// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.shadow

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.expressions.AttributeSet
import org.apache.spark.sql.catalyst.optimizer.ComputeCurrentTime
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}

import zonemap.spark.scan.{IcebergRelation, SparkMinor, SwapRule}

/**
 * A query that shadow mode can run again and compare (SOUNDNESS, S140).
 *
 * @param plan the plan whose rows are compared: with pinned snapshots, the current time as a literal, and without what
 *   depends on the order of rows
 * @param tables the Iceberg tables that the plan reads
 * @param columns columns whose values are equal in every run
 * @param text the text of the query, for messages
 */
private[shadow] final case class Comparable(
    plan: LogicalPlan,
    tables: Seq[SparkTable],
    columns: AttributeSet,
    text: String)

private[shadow] object Comparable {
  private val MaxText = 1000

  /** Returns the query in comparable form, or the reason why it cannot be compared. */
  def of(query: QueryExecution): Either[String, Comparable] = {
    // the analyzed plan, pinned to the snapshots that the query read
    val plan = query.normalized
    for {
      _ <- no(!isOurs(plan) && !isOurs(query.optimizedPlan), "none of its scans is planned from the index")
      _ <- no(query.withCachedData.exists(_.isInstanceOf[InMemoryRelation]), "it reads cached data")
      _ <- RepeatableQuery.obstacle(plan).toLeft(())
      now = ComputeCurrentTime(plan)
      orderFree = OrderFree.of(now)
      _ <- no((orderFree ne now) && OrderFree.isOfAnySize(now), "the size of a value may depend on a sum")
      determined <- Determined.rows(orderFree)
    } yield Comparable(
      determined.plan,
      tables(now),
      if (determined.countOnly) AttributeSet.empty else AttributeSet(determined.plan.output),
      textOf(query)
    )
  }

  /** Spark 3.5 has the marker in the optimized plan alone. */
  private def isOurs(plan: LogicalPlan): Boolean = {
    var found = false
    def look(relation: DataSourceV2Relation): Unit = found |= relation.options.get(SwapRule.Marker) == "true"
    SparkMinor.foreachWithSubqueries(plan) {
      case relation: DataSourceV2Relation => look(relation)
      case scan: DataSourceV2ScanRelation => look(scan.relation)
      case _                              => ()
    }
    found
  }

  private def tables(plan: LogicalPlan): Seq[SparkTable] = {
    val found = Seq.newBuilder[SparkTable]
    SparkMinor.foreachWithSubqueries(plan) {
      case IcebergRelation(_, table) => found += table
      case _                         => ()
    }
    found.result().distinctBy(_.name())
  }

  private def textOf(query: QueryExecution): String =
    query.logical.origin.sqlText.getOrElse(query.analyzed.toString).replaceAll("\\s+", " ").trim.take(MaxText)

  private def no(isSo: Boolean, why: String): Either[String, Unit] = Either.cond(!isSo, (), why)
}
