package zonemap.iceberg.plan

import scala.collection.mutable

import zonemap.core.eval.{Bitmap, FactEvaluator, FileFacts, SegmentEvaluator}
import zonemap.core.fact.FactKind
import zonemap.core.predicate.Predicate
import zonemap.core.segment.Segment
import zonemap.iceberg.index.TableFacts

/**
 * Leaves out files that bounds and partitions have kept and of which facts prove that no row matches. Not thread-safe;
 * one instance a plan.
 */
private[plan] final class FactFilter private (facts: TableFacts, evaluator: FactEvaluator) {
  private val answered = mutable.Set.empty[(Int, FactKind)]
  private var asked = 0L
  private var kept = 0L

  /** Removes such files from `rows` and answers it. */
  def keep(segment: Segment, rows: Bitmap): Bitmap = {
    lazy val paths = segment.newPathReader()
    rows.forEach { row =>
      val file = facts.of(paths.path(row), segment.fileSizeBytes(row))
      val noting: FileFacts = (fieldId, kind) => {
        val found = file.find(fieldId, kind)
        if (found.isDefined) answered += fieldId -> kind
        found
      }
      asked += 1
      if (evaluator.excludes(noting, SegmentEvaluator.rowMatch(segment, _, row))) rows.clear(row) else kept += 1
    }
    rows
  }

  def report(nameOf: Int => String): FactReport =
    FactReport(
      asked,
      kept,
      answered.toSeq.sortBy { case (id, kind) => (kind.code, id) }.map { case (id, kind) =>
        s"${kind.name}(${nameOf(id)})"
      })
}

private[plan] object FactFilter {

  /** None if no fact of the table can tell anything of the predicate. */
  def of(facts: TableFacts, predicate: Predicate): Option[FactFilter] =
    if (facts.known.isEmpty) None
    else FactEvaluator.of(predicate, facts.known).map(new FactFilter(facts, _))
}

/**
 * What facts did to one scan.
 *
 * @param asked data files that bounds and partitions had kept
 * @param kept of these, the data files that the facts kept
 * @param answered the facts that there were of some of them, such as `bloom(user_id)`
 */
final case class FactReport(asked: Long, kept: Long, answered: Seq[String])
