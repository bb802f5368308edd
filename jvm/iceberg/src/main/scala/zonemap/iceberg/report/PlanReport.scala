// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.report

import java.util.concurrent.atomic.AtomicLong

import zonemap.core.predicate.Predicate

/**
 * How one scan was planned, and with which result.
 *
 * @param mode how the scan was planned
 * @param tier where the evaluated segments were held; `None` for stock plans
 * @param considered live data files of the snapshot (0 when Iceberg planned)
 * @param kept data files planned (0 when Iceberg planned)
 * @param consideredBytes size of all live files by the snapshot's summary; `None` if Iceberg planned
 * @param keptBytes size of the planned files (0 when Iceberg planned)
 * @param consideredRows rows of all live files by the snapshot's summary; `None` if Iceberg planned
 * @param keptRows rows of the planned files, deleted rows included (0 when Iceberg planned)
 * @param countSteps counts the files before and after each step of the plan, on first use; `None` for stock plans
 * @param countsRuns whether an execution of the query counts the steps; EXPLAIN and why_not always do
 * @param topK the bound of the first rows, as text for people
 * @param limit the number of wanted rows, if only as many files were planned as hold them
 * @param facts the effect of facts beyond bounds, if some of them can evaluate a part of the filter
 * @param countRemoving see `removing`
 * @param describeEvidence makes `evidence`, on first use
 * @param millis wall time of planning, in milliseconds
 */
final class PlanReport(
    val table: String,
    val snapshotId: Long,
    val mode: PlanMode,
    val tier: Option[Tier],
    val considered: Long,
    val kept: Long,
    val consideredBytes: Option[Long],
    val keptBytes: Long,
    val consideredRows: Option[Long],
    val keptRows: Long,
    countSteps: Option[() => PlanSteps],
    private[zonemap] val countsRuns: Boolean,
    countRemoving: Seq[(Predicate, Predicate)] => Seq[Boolean],
    val predicate: String,
    val topK: Option[String],
    val limit: Option[Long],
    val facts: Option[FactReport],
    describeEvidence: () => Seq[String],
    val millis: Double) {
  import PlanReport.MaxText

  val plannedAtMillis: Long = System.currentTimeMillis()

  /** The executions of the query that this plan is part of. */
  private[zonemap] val runs: AtomicLong = new AtomicLong

  /** The steps as the history shows them. */
  private[zonemap] val counted: CountedSteps = new CountedSteps

  /**
   * The steps of the plan; empty if the index of the snapshot cannot be read any more. The first call evaluates
   * the conditions of the scan again, at about the cost of the plan itself.
   */
  lazy val steps: Option[PlanSteps] =
    try
      countSteps.map { count =>
        val found = count()
        counted.put(found.steps)
        found
      }
    catch { case Survivable(_) => None }

  /** The steps as an execution of the query shows them; empty if the settings count none for executions. */
  private[zonemap] def stepsOfRun: Option[PlanSteps] = if (countsRuns) steps else None

  /**
   * Whether each condition of the filter removes a file of the snapshot; `None` if the index of the snapshot cannot be
   * read any more. It evaluates each condition at about the cost of a plan.
   *
   * @param conditions the part that Iceberg evaluates too, and the part that only the index evaluates
   */
  def removing(conditions: Seq[(Predicate, Predicate)]): Option[Seq[Boolean]] =
    try countSteps.map(_ => countRemoving(conditions))
    catch { case Survivable(_) => None }

  /** Sentences about live data files whose bounds are not proven, and about what would prove them. */
  lazy val evidence: Seq[String] =
    try describeEvidence()
    catch { case Survivable(e) => Seq(s"how far bounds are proven is not known: $e") }

  /** The fields of the log line of the scan, in their order. */
  private[zonemap] def logFields: Seq[(String, Any)] = {
    val (how, counts) = mode match {
      case PlanMode.Stock(reason) => (Seq("reason" -> reason.code, "message" -> reason.message.take(MaxText)), Nil)
      case _                      => (Seq("tier" -> tier.fold("-")(_.name)), countedFields)
    }
    Seq("table" -> table, "snapshot" -> snapshotId, "mode" -> mode.name) ++ how ++ counts :+ ("ms" -> MillisText.of(
      millis))
  }

  private def countedFields: Seq[(String, Any)] =
    Seq("files_considered" -> considered, "files_kept" -> kept, "bytes_kept" -> keptBytes, "rows_kept" -> keptRows) ++
      facts.toSeq.flatMap(f => Seq("facts" -> f.answered.mkString(" "), "files_before_facts" -> f.evaluated)) ++
      topK.map("top_k" -> _.take(MaxText)) ++ limit.map("limit" -> _)
}

object PlanReport {

  /** The most characters of a text in a log line. */
  private val MaxText = 500

  /** The report of a scan that Iceberg planned. */
  private[zonemap] def stock(table: String, snapshotId: Long, reason: StockReason, millis: Double): PlanReport =
    new PlanReport(
      table,
      snapshotId,
      PlanMode.Stock(reason),
      None,
      0,
      0,
      None,
      0,
      None,
      0,
      None,
      false,
      _.map(_ => false),
      "",
      None,
      None,
      None,
      () => Nil,
      millis)
}
