// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import zonemap.iceberg.report.{ByteText, FileTotal, PlanReport, PlanStage, PlanStages, PlanStep}

/**
 * The lines of EXPLAIN about the steps of a plan: the files and bytes that each step keeps.
 *
 * @param stages the steps; `None` if they are not counted, and then the lines have the files of the whole plan
 */
private[explain] final class StageLines(report: PlanReport, stages: Option[PlanStages]) {

  def all: Seq[String] =
    Seq(s"files considered: ${report.considered}${bytes(stages.map(_.considered))}") ++
      stages.map(s => s"kept after partitions: ${text(s.after(PlanStages.ByPartitions))}") ++
      zones ++
      report.facts.map { facts =>
        val answered = if (facts.answered.isEmpty) "" else facts.answered.mkString(" (", ", ", ")")
        s"kept after facts: ${facts.kept}$answered${bytes(after(PlanStep.Facts(Nil).kind))}"
      } ++
      Seq(s"predicate: ${report.predicate}") ++
      report.topK.map(bound => s"top-k bound: $bound") ++
      report.limit.map { rows =>
        s"limit $rows: ${report.kept} of ${report.considered} files${bytes(stages.map(_.planned))}"
      } ++
      report.evidence

  /** The files that bounds keep, and below it each step with bounds that has pruned a file. */
  private def zones: Seq[String] = {
    val kept = stages.map(_.after(PlanStages.ByPartitions ++ PlanStages.ByBounds))
    s"kept after zones: ${kept.fold(report.facts.fold(report.kept)(_.evaluated).toString)(text)}" +:
      deciding.map(stage => s"  $stage")
  }

  private def deciding: Seq[PlanStage] =
    stages.toSeq
      .flatMap(_.stages)
      .filter(stage => PlanStages.ByBounds(stage.step.kind) && stage.prunedFiles > 0)

  /** The subjects of the lines about steps with bounds. */
  def subjects: Set[String] = deciding.map(_.step.text).toSet

  private def after(kind: String): Option[FileTotal] =
    stages.flatMap(_.stages.find(_.step.kind == kind)).map(_.after)

  private def text(total: FileTotal): String = s"${total.files}${bytes(Some(total))}"

  private def bytes(total: Option[FileTotal]): String =
    total.filter(_.files > 0).flatMap(_.bytes).fold("")(found => s", ${ByteText.of(found)}")
}
