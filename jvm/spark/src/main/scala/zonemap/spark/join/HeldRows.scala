// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import scala.annotation.tailrec

import org.apache.spark.OneToOneDependency
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{PlanExpression, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.{TreeNodeTag, TreePattern}
import org.apache.spark.sql.execution.{LogicalRDD, SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.slf4j.LoggerFactory

import zonemap.iceberg.report.{LogFields, MillisText}
import zonemap.spark.scan.{FileNames, Guarded, UncachedExecution}
import zonemap.spark.scan.SparkMinor.ClassicSession

/**
 * Evaluates one side of a join once, while the query is planned. The rows take the place of the side in the plan, so
 * the join gets the rows from which its keys come, also where another evaluation would return other rows. Spark knows
 * the size of the rows, so it can broadcast them. SOUNDNESS, S185; ADR 51.
 */
private[join] object HeldRows {
  private val log = LoggerFactory.getLogger("zonemap.planner")

  /** The greatest memory of the rows, also where Spark may broadcast more. */
  private val MaxBytes = 16L << 20

  /** The width of rows is unknown before the first are read, so each evaluation asks for so many times more rows. */
  private val FirstRows = 32
  private val Growth = 32

  /** Marks a side that was evaluated and not held. Spark runs a batch of rules until no rule changes the plan. */
  private val NotHeld = TreeNodeTag[Unit]("zonemap.rows-not-held")

  /**
   * Returns the rows of a plan.
   *
   * @return `None` if they are more than `maxRows`, or if they cannot be evaluated without the rest of the query
   */
  def of(plan: LogicalPlan, maxRows: Int): Option[LocalRelation] =
    SparkSession.getActiveSession match {
      case Some(session: ClassicSession) if isHeldable(plan) =>
        val held = Guarded.orNothing("holding the rows of one side of a join")(evaluated(session, plan, maxRows))
        if (held.isEmpty) plan.setTagValue(NotHeld, ())
        held
      case _ => None
    }

  /** True if Spark does not know how many bytes a source of the plan has. */
  def isOfUnknownSize(plan: LogicalPlan): Boolean =
    plan.collectLeaves().exists {
      case _: DataSourceV2ScanRelation => false
      case leaf                        => leaf.stats.sizeInBytes >= SQLConf.get.defaultSizeInBytes
    }

  /** True if the plan asks for the file that its task reads: a task of held rows reads none. */
  def namesFiles(plan: LogicalPlan): Boolean =
    plan.collectWithSubqueries { case node if FileNames.areAskedBy(node) => node }.nonEmpty

  /** True for rows of a list that Python has sent to the driver, which Spark's own functions project and filter. */
  def areInDriver(plan: LogicalPlan): Boolean =
    Repeatable.over(plan) {
      case rows: LogicalRDD                                => isOfPython(rows.rdd)
      case _: LocalRelation | _: Range | _: OneRowRelation => true
      case _                                               => false
    }

  /** True for a collection of the driver that Python converts, then the JVM. The classes are private to Spark. */
  @tailrec private def isOfPython(rdd: RDD[_]): Boolean =
    (rdd.getClass.getSimpleName, rdd.dependencies) match {
      case ("MapPartitionsRDD", Seq(only: OneToOneDependency[_])) => isOfPython(only.rdd)
      case ("PythonRDD", Seq(only: OneToOneDependency[_])) =>
        only.rdd.getClass.getSimpleName == "ParallelCollectionRDD"
      case _ => false
    }

  /**
   * Joins and subqueries prune scans while they run, and the query may need these scans in full if its rows are too
   * many to be held. A plan with a reference to the rest of the query has no rows of its own, and metrics that a user
   * observes are those of the query.
   */
  private def isHeldable(plan: LogicalPlan): Boolean =
    !plan.isStreaming && limit > 0 && plan.getTagValue(NotHeld).isEmpty &&
      !plan.containsAnyPattern(TreePattern.JOIN, TreePattern.CTE) &&
      !plan.exists(node =>
        node.isInstanceOf[CollectMetrics] || node.expressions.exists(_.exists(_.isInstanceOf[PlanExpression[_]]))) &&
      (isOfUnknownSize(plan) || plan.stats.sizeInBytes <= limit)

  private def limit: Long = SQLConf.get.autoBroadcastJoinThreshold.min(MaxBytes)

  private def evaluated(session: ClassicSession, plan: LogicalPlan, maxRows: Int): Option[LocalRelation] = {
    val started = System.nanoTime()
    val first = if (isFixedWidth(plan)) limit / widthOf(plan).max(1) + 1 else FirstRows.toLong
    // executors evaluate with the confs of the session only where these are passed on
    val rows = SQLExecution.withSQLConfPropagated(session) {
      few(new UncachedExecution(session, plan).executedPlan, first.min(maxRows + 1L).toInt, maxRows)
    }
    val fields = Seq[(String, Any)](
      "held_rows" -> rows.fold("too many")(_.length.toString),
      "ms" -> MillisText.of((System.nanoTime() - started) / 1e6)
    )
    log.info(s"Zonemap: ${LogFields.of(fields)}")
    rows.map(rows => LocalRelation(plan.output, rows.toSeq))
  }

  private def isFixedWidth(plan: LogicalPlan): Boolean =
    plan.output.forall(column => UnsafeRow.isFixedLength(column.dataType))

  /** The bytes of a row of a fixed width. */
  private def widthOf(plan: LogicalPlan): Long =
    UnsafeRow.calculateBitSetWidthInBytes(plan.output.size) + 8L * plan.output.size

  /** Returns all rows, if they are not more than `maxRows` and few enough in bytes; asks for `count` rows at first. */
  @tailrec private def few(plan: SparkPlan, count: Int, maxRows: Int): Option[Array[InternalRow]] = {
    val rows = plan.executeTake(count)
    val bytes = rows.map(bytesOf)
    if (bytes.sum > limit) None
    else if (rows.length < count) Some(rows)
    else if (count > maxRows) None
    else
      few(
        plan,
        (count.toLong * Growth).min(maxRows + 1L).min(limit / bytes.max.max(1) + 1).max(count + 1L).toInt,
        maxRows)
  }

  private def bytesOf(row: InternalRow): Long =
    row match {
      case unsafe: UnsafeRow => unsafe.getSizeInBytes.toLong
      case other             => throw new IllegalArgumentException(s"a row is a ${other.getClass.getName}")
    }
}
