// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.report

import java.util.Locale

/**
 * A number of data files, and their size.
 *
 * @param bytes `None` if the size of some file is not in memory
 */
final case class FileTotal(files: Long, bytes: Option[Long]) {

  def +(other: FileTotal): FileTotal =
    FileTotal(files + other.files, bytes.flatMap(a => other.bytes.map(a + _)))
}

object FileTotal {
  val Zero: FileTotal = FileTotal(0, Some(0))

  /** Text such as "366 -> 12 files, 2.2 GB -> 71.5 MB". */
  def change(before: FileTotal, after: FileTotal): String = {
    val bytes = for (b <- before.bytes; a <- after.bytes) yield s", ${ByteText.of(b)} -> ${ByteText.of(a)}"
    s"${before.files} -> ${after.files} files${bytes.getOrElse("")}"
  }
}

/** Bytes in the unit that people read, rounded up. */
object ByteText {
  def of(bytes: Long): String = {
    def in(unit: Double, name: String) = "%.1f %s".formatLocal(Locale.ROOT, (bytes / unit * 10).ceil / 10, name)
    if (bytes < 1000 * 1000) in(1000, "KB") else if (bytes < 1000L * 1000 * 1000) in(1e6, "MB") else in(1e9, "GB")
  }
}

/**
 * A step in which files of a scan are pruned.
 *
 * @param kind the stable name of all steps of this sort, without the values of one query
 * @param text the name of this step for people
 */
sealed abstract class PlanStep(val kind: String, val text: String)

object PlanStep {
  case object Partitions extends PlanStep("partitions", "partitions")

  /** Conditions on some columns, the ranges of functions included. */
  final case class Bounds(columns: Seq[String])
      extends PlanStep(
        "bounds",
        if (columns.isEmpty) "a condition that is never true" else s"bounds of ${columns.mkString(" and ")}")

  /** The values of the other side of a join: their ranges before the query runs, or the values when it runs. */
  final case class JoinKeys(column: String) extends PlanStep("join keys", s"join pruning on $column")

  final case class TopK(bound: String) extends PlanStep("top-k bound", s"top-k bound $bound")

  /** @param answered the facts that some files have; empty if only single values of files prune */
  final case class Facts(answered: Seq[String]) extends PlanStep("facts", s"facts ${answered.mkString(", ")}".trim)

  final case class Limit(rows: Long) extends PlanStep("limit", s"limit $rows")

  /** Aggregates of whole files that the index answers, so that the query does not read these files. */
  case object Aggregates extends PlanStep("aggregates", "aggregates")
}

/** The files before and after one step of a plan. */
final case class CountedStep(step: PlanStep, before: FileTotal, after: FileTotal) {

  /** Text such as "bounds of id: 366 -> 12 files, 2.2 GB -> 71.5 MB". */
  override def toString: String = s"${step.text}: ${FileTotal.change(before, after)}"

  def prunedFiles: Long = before.files - after.files

  def prunedBytes: Option[Long] = for (b <- before.bytes; a <- after.bytes) yield b - a
}

/**
 * The steps of a scan's plan, in order; each begins with the files that the one before it has kept.
 *
 * @param considered the live data files of the snapshot
 */
final case class PlanSteps(considered: FileTotal, steps: Seq[CountedStep]) {

  /** The files that the plan keeps. */
  def planned: FileTotal = steps.lastOption.fold(considered)(_.after)

  /** The files that the steps of these kinds and all steps before them keep. */
  def after(kinds: Set[String]): FileTotal = steps.filter(s => kinds(s.step.kind)).lastOption.fold(considered)(_.after)
}

object PlanSteps {
  val ByPartitions: Set[String] = Set(PlanStep.Partitions.kind)

  /** The steps that evaluate bounds. */
  val ByBounds: Set[String] = Set(PlanStep.Bounds(Nil), PlanStep.JoinKeys(""), PlanStep.TopK("")).map(_.kind)
}
