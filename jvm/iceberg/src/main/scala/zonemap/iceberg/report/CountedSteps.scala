// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.report

/**
 * The files and bytes before and after one step of a plan, as plain values.
 *
 * @param step the stable name of the step
 * @param text the name of the step for people, with the values of its query
 * @param bytesBefore -1 if the size of some file is not in memory
 */
private[zonemap] final case class StepRecord(
    step: String,
    text: String,
    filesBefore: Long,
    filesAfter: Long,
    bytesBefore: Long,
    bytesAfter: Long)

/**
 * The steps of one plan in the history: empty until a metric or EXPLAIN counts them. It retains a limited number of
 * short texts, and nothing of the plan. Thread-safe.
 */
private[zonemap] final class CountedSteps {
  import CountedSteps._

  @volatile private var steps: Seq[StepRecord] = Nil

  def all: Seq[StepRecord] = steps

  /** Replaces the steps; those beyond the limit become one step. */
  def put(counted: Seq[CountedStep]): Unit = {
    val (first, rest) = if (counted.size <= MaxSteps) (counted, Nil) else counted.splitAt(MaxSteps - 1)
    val joined = rest.headOption.map { from =>
      record("several", s"${rest.size} more steps", from.before, rest.last.after)
    }
    steps = first.map(s => record(s.step.kind, s.step.text, s.before, s.after)).toVector ++ joined
  }

  private def record(step: String, text: String, before: FileTotal, after: FileTotal): StepRecord =
    StepRecord(
      step,
      text.take(MaxText),
      before.files,
      after.files,
      before.bytes.getOrElse(-1L),
      after.bytes.getOrElse(-1L))
}

private object CountedSteps {
  private val MaxSteps = 16
  private val MaxText = 200
}
