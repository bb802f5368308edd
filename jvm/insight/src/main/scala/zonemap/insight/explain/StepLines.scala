// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.explain

import zonemap.iceberg.report.{ByteText, CountedStep, FileTotal, PlanReport, PlanStep, PlanSteps}

/**
 * The lines of EXPLAIN about the steps of a plan: the files and bytes that each step keeps.
 *
 * @param steps the steps; `None` if they are not counted, and then the lines have the files of the whole plan
 */
private[explain] final class StepLines(report: PlanReport, steps: Option[PlanSteps]) {

  def all: Seq[String] =
    Seq(s"files considered: ${report.considered}${bytes(steps.map(_.considered))}") ++
      steps.map(s => s"kept after partitions: ${text(s.after(PlanSteps.ByPartitions))}") ++
      zones ++
      report.facts.map { facts =>
        val answered = if (facts.answered.isEmpty) "" else facts.answered.mkString(" (", ", ", ")")
        s"kept after ${facts.step}: ${facts.kept}$answered${bytes(after(PlanStep.Facts(Nil).kind))}"
      } ++
      Seq(s"predicate: ${report.predicate}") ++
      report.topK.map(bound => s"top-k bound: $bound") ++
      report.limit.map { rows =>
        s"limit $rows: ${report.kept} of ${report.considered} files${bytes(steps.map(_.planned))}"
      } ++
      report.evidence

  /** The files that bounds keep, and below it each step with bounds that has pruned a file. */
  private def zones: Seq[String] = {
    val kept = steps.map(_.after(PlanSteps.ByPartitions ++ PlanSteps.ByBounds))
    s"kept after zones: ${kept.fold(report.facts.fold(report.kept)(_.evaluated).toString)(text)}" +:
      deciding.map(counted => s"  $counted")
  }

  private def deciding: Seq[CountedStep] =
    steps.toSeq
      .flatMap(_.steps)
      .filter(c => PlanSteps.ByBounds(c.step.kind) && c.prunedFiles > 0)

  /** The subjects of the lines about steps with bounds. */
  def subjects: Set[String] = deciding.map(_.step.text).toSet

  private def after(kind: String): Option[FileTotal] =
    steps.flatMap(_.steps.find(_.step.kind == kind)).map(_.after)

  private def text(total: FileTotal): String = s"${total.files}${bytes(Some(total))}"

  private def bytes(total: Option[FileTotal]): String =
    total.filter(_.files > 0).flatMap(_.bytes).fold("")(found => s", ${ByteText.of(found)}")
}
