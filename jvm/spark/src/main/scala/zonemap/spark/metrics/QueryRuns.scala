// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.metrics

import java.lang.ref.WeakReference
import java.util.{Collections, IdentityHashMap}
import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.util.Try

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.execution.{LocalTableScanExec, QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd
import org.apache.spark.sql.internal.SQLConf
import org.slf4j.LoggerFactory

import zonemap.iceberg.plan.ZoneMapTable
import zonemap.iceberg.report.PlanReport
import zonemap.spark.aggregate.AnsweredRows
import zonemap.spark.scan.{Guarded, IcebergScans, RowLevelTables, SparkProcess}

/**
 * Counts the executions of planned scans, for the metrics and for other listeners of the plan log: a scan of a query
 * runs once with each execution of the query, whether it succeeds or fails, and a scan below Spark's cache once, with the
 * first query that reads the cache. A plan that is only explained does not run, nor do the queries of shadow mode and
 * `verify`.
 *
 * Spark calls this listener on the thread of its events, shortly after the execution. Thread-safe.
 */
private[zonemap] final class QueryRuns(process: SparkProcess) extends SparkListener with AdaptiveSparkPlanHelper {
  import QueryRuns._

  @volatile private var listensTo = new WeakReference[SparkContext](null)

  /** Listens to an application, if this listener does not yet. */
  def listenTo(context: SparkContext): Unit =
    if (listensTo.get ne context) synchronized {
      if (listensTo.get ne context) {
        context.addSparkListener(this)
        listensTo = new WeakReference(context)
      }
    }

  /** Waits until the executions are counted that have ended; logs it if Spark's listeners are too late for that. */
  def await(context: SparkContext): Unit =
    if (listensTo.get eq context) {
      val mark = new Mark
      SparkEvents.post(context, mark)
      if (!mark.isSeen.await(MostWaitSeconds, TimeUnit.SECONDS))
        log.warn(
          s"Zonemap: the newest runs of queries are not counted yet: Spark's listeners are $MostWaitSeconds s late.")
    }

  override def onOtherEvent(event: SparkListenerEvent): Unit =
    event match {
      case mark: Mark => mark.isSeen.countDown()
      case end: SparkListenerSQLExecutionEnd =>
        Guarded.orNothing[Unit]("a count of its runs") {
          // a query whose analysis or planning failed has no plan, and has told its error
          Option(SparkEvents.query(end))
            .filterNot(isOfCheck)
            .flatMap(query => Try(query.executedPlan).toOption)
            .foreach(count(_, isCached = false))
          None
        }: Unit
      case _ => ()
    }

  private def isOfCheck(query: QueryExecution): Boolean = query.sparkSession.conf.getOption(CheckMark).isDefined

  private def count(plan: SparkPlan, isCached: Boolean): Unit = {
    // the subqueries of dynamic pruning have copies of plans with the same scans
    val seen = Collections.newSetFromMap(new IdentityHashMap[PlanReport, java.lang.Boolean])
    def ran(report: Option[PlanReport]): Unit =
      report
        .filter(found => seen.add(found) && !(isCached && found.runs.get > 0))
        .foreach(process.iceberg.index.planLog.ran)
    collectWithSubqueries(plan) {
      case scan: BatchScanExec =>
        tableOf(scan).foreach(ours => ran(IcebergScans.report(scan.scan).orElse(Option(ours.lastPlan()))))
      case rows: LocalTableScanExec =>
        AnsweredRows.scanOf(rows).foreach { answered =>
          ran(answered.report.orElse(Option(answered.relation.table.lastPlan())))
        }
      case cached: InMemoryTableScanExec => count(cached.relation.cachedPlan, isCached = true)
    }: Unit
  }

  private def tableOf(scan: BatchScanExec): Option[ZoneMapTable] = {
    val read = scan.table match {
      case table: SparkTable => Some(table)
      case target            => Option(RowLevelTables.target(target))
    }
    read.map(_.table()).collect { case ours: ZoneMapTable => ours }
  }
}

private[zonemap] object QueryRuns {

  /** The conf of a session whose queries zonemap itself runs, to compare their rows. */
  val CheckMark = "zonemap.check-session"

  /** Whether this thread plans a query that zonemap itself runs, to compare its rows. */
  def isCheck: Boolean = SQLConf.get.contains(CheckMark)

  private val log = LoggerFactory.getLogger("zonemap.planner")

  private val MostWaitSeconds = 30L

  /** An event behind which the executions that ended before are counted. */
  private final class Mark extends SparkListenerEvent {
    val isSeen = new CountDownLatch(1)
    override def logEvent: Boolean = false
  }
}
