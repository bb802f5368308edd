// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.shadow

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.QueryExecution

import zonemap.core.predicate.False
import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.report.{StockReason, Survivable}
import zonemap.insight.explain.{FoundScan, ScanFinder}
import zonemap.spark.conf.ZoneMapConf
import zonemap.spark.scan.{IcebergScans, SparkProcess, UncachedExecution}
import zonemap.spark.scan.SparkMinor.ClassicSession

/**
 * A row of `verify`.
 *
 * @param check "pruned files", "rows" or "tasks"
 * @param table the table of a scan; empty for the rows of the whole query
 * @param withIndex the number with the index: rows that match in pruned files, rows of the query, planned files
 * @param without the number without it: files that were read, rows of the query, live files
 */
private[zonemap] final case class Verdict(
    query: String,
    check: String,
    table: String,
    verdict: String,
    withIndex: Long,
    without: Long,
    detail: String)

private[zonemap] object Verdict {
  val Equal = "equal"
  val Different = "different"
  val NotChecked = "not checked"
}

/**
 * Checks one query: no pruned file holds a row that it needs, its rows with and without zonemap are equal, and each task
 * is Iceberg's. The second and third check are those of shadow mode, so a difference puts the tables into quarantine.
 */
private[zonemap] final class Verification(process: SparkProcess) {
  import Verdict._
  import Verification.Description

  private val finder = new ScanFinder(process.tables)

  /**
   * @param text the query, for the rows
   * @param maxFiles the most pruned files that are read for each scan
   */
  def of(user: ClassicSession, query: QueryExecution, text: String, maxFiles: Int): Seq[Verdict] = {
    val before = SparkSession.getActiveSession
    val description = user.sparkContext.getLocalProperty(Description)
    try {
      val scans = finder.of(query.executedPlan)
      if (scans.isEmpty) Seq(Verdict("", "tasks", "", NotChecked, -1, -1, "the plan has no scan of an Iceberg table"))
      else {
        val sessions = new CheckSessions(user)
        pruned(sessions, query, scans, maxFiles) ++ rows(user, query) ++ tasks(sessions, query)
      }
    } finally {
      before.foreach(SparkSession.setActiveSession)
      user.sparkContext.setLocalProperty(Description, description)
    }
  }.map(_.copy(query = text))

  private def notChecked(check: String, table: String, why: String): Verdict =
    Verdict("", check, table, NotChecked, -1, -1, why)

  private def pruned(
      sessions: CheckSessions,
      query: QueryExecution,
      scans: Seq[FoundScan],
      maxFiles: Int): Seq[Verdict] = {
    val plain =
      sessions.open(ZoneMapConf.Enabled.key -> "false", "spark.sql.iceberg.aggregate-push-down.enabled" -> "false")
    val files = new PrunedFiles(plain, RowCheck.freed(query.normalized, Seq(ZoneMapConf.Enabled.option)))
    scans.map {
      case stock: FoundScan.Stock =>
        notChecked("pruned files", stock.table, s"Iceberg planned the scan: ${stock.reason.code}")
      case indexed: FoundScan.Indexed =>
        val table = indexed.table.baseName()
        try ofPruned(indexed, files, maxFiles).fold(notChecked("pruned files", table, _), _.copy(table = table))
        catch { case Survivable(e) => notChecked("pruned files", table, s"the files could not be read: $e") }
    }
  }

  private def ofPruned(scan: FoundScan.Indexed, pruned: PrunedFiles, maxFiles: Int): Either[String, Verdict] =
    for {
      details <- scan.details.toRight("Spark uses the scan in a way that is not known")
      planned <- IcebergScans.planned(details.use.scan.scan).toRight("the plan of the scan is not known")
      _ <- Either.cond(
        details.report.topK.isEmpty && details.report.limit.isEmpty,
        (),
        "its top-k bound or LIMIT prunes files that can match")
      _ <- Either.cond(scan.notes.isEmpty, (), "join keys prune files that can match its conditions")
      live <- scan.table.pinned.liveFiles.toRight("the index does not cover the snapshot any more")
      found <- pruned.conditionsOf(details.use.scan.relation)
    } yield {
      val left = pathsOf(live) -- pathsOf(planned.files)
      val sample = Verification.spread(left.toIndexedSeq.sorted, maxFiles)
      val matching = if (sample.isEmpty) 0L else pruned.matching(found._1, found._2, sample.toSet)
      val verdict = if (matching == 0) Equal else Different
      Verdict(
        "",
        "pruned files",
        "",
        verdict,
        matching,
        sample.size.toLong,
        s"$matching rows match in ${sample.size} of ${left.size} pruned files")
    }

  private def pathsOf(files: FileSet): Set[String] = {
    val none = files.keep(False)
    val paths = files.pathsWithout(none)
    paths.toArray(Array.empty[String]).toSet
  }

  private def rows(user: ClassicSession, query: QueryExecution): Seq[Verdict] =
    Seq(Comparable.of(query).flatMap(new RowCheck(user, _, process).run()) match {
      case Left(why) => notChecked("rows", "", why)
      case Right(found) =>
        val verdict = if (found.difference.isEmpty) Equal else Different
        val equal = "the rows of both runs have the same digest"
        Verdict("", "rows", "", verdict, found.rows, found.expected, found.difference.getOrElse(equal))
    })

  private def tasks(sessions: CheckSessions, query: QueryExecution): Seq[Verdict] = {
    val session = sessions.open(ZoneMapConf.Shadow.key -> "true")
    SparkSession.setActiveSession(session)
    val plan = RowCheck.freed(query.normalized, Seq(ZoneMapConf.Shadow.option))
    finder.of(new UncachedExecution(session, plan).executedPlan).map {
      case stock: FoundScan.Stock if stock.reason.code == StockReason.ShadowMismatch("").code =>
        Verdict("", "tasks", stock.table, Different, -1, -1, stock.reason.message)
      case stock: FoundScan.Stock =>
        notChecked("tasks", stock.table, s"Iceberg planned the scan: ${stock.reason.code}, ${stock.reason.message}")
      case indexed: FoundScan.Indexed =>
        val (kept, considered) = indexed.report.fold((-1L, -1L))(r => (r.kept, r.considered))
        val detail = "each task equals Iceberg's, and its manifest entry refutes each file that only Iceberg plans"
        Verdict("", "tasks", indexed.table.baseName(), Equal, kept, considered, detail)
    }
  }
}

private object Verification {
  private val Description = "spark.job.description"

  /** At most `limit` elements, spread over the sequence. */
  def spread[A](all: IndexedSeq[A], limit: Int): Seq[A] =
    if (all.size <= limit) all else (0 until limit).map(i => all((i.toLong * all.size / limit).toInt))
}
