package zonemap.spark.shadow

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.{QueryExecution, SQLExecution}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.spark.conf.{ConfEntry, ZoneMapConf}
import zonemap.spark.rule.{SparkProcess, SwapRule}

/**
 * Runs one query with the product and without, compares the rows, and on a difference finds the rule that makes it
 * (SOUNDNESS, S170).
 *
 * The runs are those of a session of their own with the confs and rules of the user's, which has no listeners, samples
 * nothing, and reads no cached data.
 */
private[shadow] final class RowCheck(user: ClassicSession, compared: Comparable, process: SparkProcess) {
  private val confs = user.sessionState.conf.getAllConfs

  /** Compares and reports; `Left` if the query gives other rows by itself. */
  def run(): Either[String, Unit] =
    if (user.sparkContext.isStopped) Left("the session has ended")
    else {
      SparkSession.setActiveSession(user)
      user.sparkContext.setJobDescription("zonemap: compare the rows of a query with the rows of Iceberg's plan")
      try {
        val expected = without()
        rowsWith(Nil).differenceTo(expected) match {
          case None                                                 => Right(())
          case Some(_) if without().differenceTo(expected).nonEmpty => Left("its rows differ without the index, too")
          case Some(difference)                                     => Right(report(culprit(expected), difference))
        }
      } finally SparkSession.clearActiveSession()
    }

  /** The rule without which the rows are right. */
  private def culprit(expected: RowDigest): String = {
    def isRight(off: Seq[ConfEntry[Boolean]]) = rowsWith(off).differenceTo(expected).isEmpty
    RowCheck.Rules
      .find { case (_, off) => isRight(Seq(off)) }
      .map(_._1)
      .getOrElse(if (isRight(RowCheck.Rules.map(_._2))) "more than one rule" else "planning of files")
  }

  private def report(rule: String, difference: String): Unit = {
    val index = process.iceberg.index
    compared.tables.foreach { table =>
      index.tables.of(table.table()).quarantine(s"rows of a query differ (rule: $rule): $difference")
    }
    index.planLog.rowsDiffer(compared.tables.map(_.name()), rule, difference, compared.text)
  }

  private def without(): RowDigest = digest(Seq(ZoneMapConf.Enabled))
  private def rowsWith(off: Seq[ConfEntry[Boolean]]): RowDigest = digest(off)

  private def digest(off: Seq[ConfEntry[Boolean]]): RowDigest = {
    val session = newSession(off)
    SparkSession.setActiveSession(session)
    val query = new RowCheck.Uncached(session, RowCheck.freed(RowDigest.planOf(compared), off.map(_.option)))
    RowDigest.read(
      SQLExecution.withNewExecutionId(query, Some("zonemap.shadow"))(query.executedPlan.executeCollectPublic().head))
  }

  private def newSession(off: Seq[ConfEntry[Boolean]]): ClassicSession = {
    val session = user.newSession()
    val conf = session.sessionState.conf
    confs.foreach { case (key, value) => conf.setConfString(key, value) }
    conf.setConfString(ZoneMapConf.ShadowSample.key, "0")
    off.foreach(entry => conf.setConfString(entry.key, "false"))
    session.listenerManager.clear()
    session.experimental.extraOptimizations = user.experimental.extraOptimizations
    session.experimental.extraStrategies = user.experimental.extraStrategies
    session
  }
}

private[shadow] object RowCheck {

  /** What the product adds to queries, by the confs that switch it off. */
  private val Rules: Seq[(String, ConfEntry[Boolean])] = Seq(
    "topk" -> ZoneMapConf.TopK,
    "limit" -> ZoneMapConf.Limit,
    "aggregates" -> ZoneMapConf.Aggregates,
    "expressions" -> ZoneMapConf.Expressions,
    "join.static" -> ZoneMapConf.StaticJoins,
    "join.runtime" -> ZoneMapConf.RuntimeJoins
  )

  /** The plan with relations whose own options do not override these confs, and which no rule has been at. */
  private def freed(plan: LogicalPlan, options: Seq[String]): LogicalPlan =
    plan.transformWithSubqueries { case relation: DataSourceV2Relation =>
      val entries = new java.util.HashMap[String, String](relation.options.asCaseSensitiveMap())
      val gone = options :+ SwapRule.Marker
      if (entries.keySet().removeIf(key => gone.exists(_.equalsIgnoreCase(key))))
        relation.copy(options = new CaseInsensitiveStringMap(entries))
      else relation
    }

  /** A query over the snapshots that its plan is pinned to, which reads nothing from caches. */
  private final class Uncached(session: ClassicSession, plan: LogicalPlan)
      extends QueryExecution(session, plan, refreshPhaseEnabled = false) {
    override def withCachedData: LogicalPlan = normalized
  }
}
