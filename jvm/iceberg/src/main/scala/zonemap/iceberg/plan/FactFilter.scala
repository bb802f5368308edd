package zonemap.iceberg.plan

import scala.collection.mutable

import zonemap.core.eval.{Bitmap, FactEvaluator, FileFacts, SegmentEvaluator}
import zonemap.core.fact.FactKind
import zonemap.core.predicate.{ColumnId, Predicate}
import zonemap.core.segment.Segment
import zonemap.iceberg.index.TableFacts

/**
 * Leaves out files that bounds and partitions have kept and of which facts prove that no row matches. Not thread-safe;
 * one instance a plan.
 */
private[plan] final class FactFilter private (facts: TableFacts, evaluator: FactEvaluator) {
  private val answered = mutable.Set.empty[(ColumnId, FactKind)]
  private var asked = 0L
  private var kept = 0L

  /** Removes such files from `rows` and answers it. */
  def keep(segment: Segment, rows: Bitmap): Bitmap = {
    lazy val paths = segment.newPathReader()
    rows.forEach { row =>
      val file = facts.of(paths.path(row), segment.fileSizeBytes(row))
      val noting: FileFacts = (column, kind) => {
        val found = file.find(column, kind)
        if (found.isDefined) answered += column -> kind
        found
      }
      asked += 1
      def byBounds(part: Predicate) = SegmentEvaluator.rowMatch(segment, BoundScan.trusting(part, facts), row)
      if (evaluator.excludes(noting, byBounds)) rows.clear(row) else kept += 1
    }
    rows
  }

  def report(nameOf: ColumnId => String): FactReport =
    FactReport(
      asked,
      kept,
      answered.toSeq
        .map { case (column, kind) => (kind, nameOf(column)) }
        .sortBy { case (kind, name) => (kind.code, name) }
        .map { case (kind, name) => s"${kind.name}($name)" }
    )
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
