// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.aggregate

import org.apache.iceberg.FileScanTask
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

import zonemap.iceberg.answer.FileAnswers
import zonemap.iceberg.plan.{IndexQuestions, PlannedScan}
import zonemap.iceberg.report.{AggregateReason, ByteText, CountedStep, PlanStep}
import zonemap.spark.scan.{IcebergScans, PlannedBefore, ScanPlaces}

/**
 * Evaluates COUNT, MIN and MAX over a scan from the index where possible: files whose exact results the index holds are
 * removed from the scan, and their results are added to the plan as rows (SOUNDNESS, S76 and S102 to S110).
 *
 * The rule runs on planned scans, after [[SnapshotAggregateRule]] and after Iceberg tried to evaluate the aggregate
 * itself. It decides for each planned task whether the index provides the file's result, so every planned file is
 * either answered or read. See ADR 11.
 */
private[zonemap] object AggregateRule extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = {
    lazy val once = ScanPlaces.metOnce(plan)
    AggregatedScan.replaced(plan)(AggregatedScan.unapply(_).flatMap(answered(_, once(_))))
  }

  private def answered(found: AggregatedScan, once: Scan => Boolean): Option[LogicalPlan] =
    for {
      scan <- found.scan
      if IcebergScans.isFilterable(scan.scan) && found.isOn && once(scan.scan)
      tasks <- IcebergScans.fileTasks(scan.scan)
      if tasks.nonEmpty
      answers <- explained(scan, answersOf(found, scan, tasks))
      plan = new AnsweredPlan(found, answers.groups)
      rows <- plan.rows
    } yield replaced(found, scan, tasks, answers, plan, rows)

  private def answersOf(
      found: AggregatedScan,
      scan: DataSourceV2ScanRelation,
      tasks: IndexedSeq[FileScanTask]): Either[AggregateReason, FileAnswers] =
    for {
      question <- found.question
      planned <- plannedFrom(scan).toRight(AggregateReason.NotFromIndex)
      answers <- IndexQuestions.aggregates(found.relation.table.pinned, planned.files, tasks, question)
    } yield answers

  private def plannedFrom(scan: DataSourceV2ScanRelation): Option[PlannedScan] =
    if (PlannedBefore.isMarked(scan)) None else IcebergScans.planned(scan.scan)

  /** Returns the results from the index. If there are none, notes the reason on the scan for EXPLAIN. */
  private def explained(
      scan: DataSourceV2ScanRelation,
      answers: Either[AggregateReason, FileAnswers]): Option[FileAnswers] = {
    answers.left.foreach(NotAnswered.note(scan, _))
    answers.toOption
  }

  /** Builds the new plan, then removes the answered tasks from the scan: no step after the removal can fail. */
  private def replaced(
      found: AggregatedScan,
      scan: DataSourceV2ScanRelation,
      tasks: IndexedSeq[FileScanTask],
      answers: FileAnswers,
      plan: AnsweredPlan,
      rows: LocalRelation): LogicalPlan = {
    val read = tasks.indices.filterNot(answers.answered.get).map(tasks)
    val counted =
      CountedStep(PlanStep.Aggregates, IcebergScans.totalOf(tasks.iterator), IcebergScans.totalOf(read.iterator))
    val note = AnsweredScan.note(tasks.size.toLong, read.size.toLong) +
      counted.after.bytes.filter(_ => read.nonEmpty).fold("")(bytes => s", ${ByteText.of(bytes)}")
    if (read.isEmpty)
      plan.whole(
        rows,
        AnsweredScan(found.relation, IcebergScans.planned(scan.scan).map(_.report), note, scan, found.conditions))
    else {
      val remaining = new java.util.HashSet[String]
      read.foreach(task => remaining.add(task.file().location()): Unit)
      val left = scan.copy(
        scan = new RemainingFilesScan(scan.scan, remaining, counted, note),
        keyGroupedPartitioning = None,
        ordering = None)
      val changed = plan.withRest(rows, found.aggregate.child.transformDown { case old if old eq scan => left })
      IcebergScans.remove(scan.scan, answers.answered)
      changed
    }
  }
}
