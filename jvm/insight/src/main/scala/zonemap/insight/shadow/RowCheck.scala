// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.shadow

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import zonemap.iceberg.report.Survivable
import zonemap.spark.conf.{ConfEntry, JoinConf, ZoneMapConf}
import zonemap.spark.scan.{SparkProcess, SwapRule, UncachedExecution}
import zonemap.spark.scan.SparkMinor.ClassicSession

/**
 * Runs one query with and without zonemap and compares the rows. On a difference it finds the rule that causes the
 * difference (SOUNDNESS, S139).
 *
 * Each run has its own session, with the confs and rules of the user's session. This session has no listeners, samples
 * no queries, and reads no cached data.
 */
private[shadow] final class RowCheck(user: ClassicSession, compared: Comparable, process: SparkProcess) {
  private val sessions = new CheckSessions(user)

  /** Compares the rows and reports a difference; `Left` if the rows differ, or the query fails, without zonemap too. */
  def run(): Either[String, RowComparison] =
    if (user.sparkContext.isStopped) Left("the session has ended")
    else {
      SparkSession.setActiveSession(user)
      user.sparkContext.setJobDescription("zonemap: compare the rows of a query with the rows of Iceberg's plan")
      try {
        expectation().flatMap(compareWith)
      } finally SparkSession.clearActiveSession()
    }

  private def compareWith(expected: RowDigest): Either[String, RowComparison] = {
    val found = rowsWith(Nil)
    found.differenceTo(expected) match {
      case None                                                 => Right(RowComparison(found.rows, expected.rows, None))
      case Some(_) if without().differenceTo(expected).nonEmpty => Left("its rows differ without the index, too")
      case Some(difference) =>
        val rule = culprit(expected)
        report(rule, difference)
        Right(RowComparison(found.rows, expected.rows, Some(s"$difference (rule: $rule)")))
    }
  }

  /** The rows without zonemap; `Left` if the query fails, as it may with a hash in place of a sum. */
  private def expectation(): Either[String, RowDigest] =
    try Right(without())
    catch { case Survivable(e) => Left(s"it fails without the index, too: $e") }

  /** Returns the name of the rule that makes the rows equal when it is switched off. */
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
    val session = sessions.open(off.map(_.key -> "false"): _*)
    SparkSession.setActiveSession(session)
    val query = new UncachedExecution(session, RowCheck.freed(RowDigest.planOf(compared), off.map(_.option)))
    RowDigest.read(
      SQLExecution.withNewExecutionId(query, Some("zonemap.shadow"))(query.executedPlan.executeCollectPublic().head))
  }
}

/**
 * The result of a comparison.
 *
 * @param difference the difference of the rows and the rule that causes it; `None` if they are equal
 */
private[shadow] final case class RowComparison(rows: Long, expected: Long, difference: Option[String])

private[shadow] object RowCheck {

  /** The rules that change plans, each with the conf that switches it off. */
  private val Rules: Seq[(String, ConfEntry[Boolean])] = Seq(
    "topK.enabled" -> ZoneMapConf.TopK,
    "limit.enabled" -> ZoneMapConf.Limit,
    "aggregates.enabled" -> ZoneMapConf.Aggregates,
    "expressions.enabled" -> ZoneMapConf.Expressions,
    "join.static.enabled" -> JoinConf.StaticJoins,
    "join.runtime.enabled" -> JoinConf.RuntimeJoins
  )

  /** Returns the plan without these confs and without zonemap's marker in the relations' options. */
  def freed(plan: LogicalPlan, options: Seq[String]): LogicalPlan =
    plan.transformWithSubqueries { case relation: DataSourceV2Relation =>
      val entries = new java.util.HashMap[String, String](relation.options.asCaseSensitiveMap())
      val gone = options :+ SwapRule.Marker
      if (entries.keySet().removeIf(key => gone.exists(_.equalsIgnoreCase(key))))
        relation.copy(options = new CaseInsensitiveStringMap(entries))
      else relation
    }
}
