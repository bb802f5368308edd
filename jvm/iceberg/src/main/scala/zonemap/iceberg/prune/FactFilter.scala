// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.prune

import scala.collection.mutable

import zonemap.core.column.Bitmap
import zonemap.core.eval.{FactEvaluator, FactLookup, KeyCondition}
import zonemap.core.fact.{Fact, FactKind}
import zonemap.core.predicate.{ColumnId, ColumnRef, ColumnSpan, Predicate}
import zonemap.core.rule.Match
import zonemap.core.segment.Segment
import zonemap.core.value.ZoneValue
import zonemap.iceberg.report.FactReport
import zonemap.iceberg.trust.{BoundsTrust, ExactColumn}

/**
 * Prunes files that bounds and partitions have retained, if facts or the file's few values prove that no row matches.
 * Not thread-safe; one instance for each plan.
 */
private[prune] final class FactFilter private (evaluator: FactEvaluator, trust: BoundsTrust) {
  private val facts = trust.facts
  private val answered = mutable.Set.empty[(ColumnId, FactKind)]
  private var evaluated = 0L
  private var kept = 0L

  /** Removes files without matching rows from `rows`, and returns `rows`. */
  def keep(segment: Segment, rows: Bitmap): Bitmap = {
    evaluator.keyed.foreach(keepWithKey(segment, rows, _))
    val file = new KnownFile(segment)
    rows.forEach { row =>
      file.moveTo(row)
      evaluated += 1
      if (evaluator.excludes(file, file.byBounds)) rows.clear(row) else kept += 1
    }
    rows
  }

  /** Removes the files that an index of keys excludes: at some nanoseconds a file, which the others would take each. */
  private def keepWithKey(segment: Segment, rows: Bitmap, condition: KeyCondition): Unit =
    if (!rows.isEmpty) facts.keyRows(segment, condition.column).foreach { known =>
      val before = rows.cardinality
      if (known.keep(segment, rows)(condition.candidates)) answered += condition.column -> FactKind.Keys
      evaluated += before - rows.cardinality
    }

  /** The bounds, facts and values of one file of a segment after the other, each loaded on first use. */
  private final class KnownFile(segment: Segment) extends FactLookup {
    private lazy val paths = segment.newPathReader()
    private val columns = mutable.HashMap.empty[ColumnRef, ExactColumn]
    private val parts = new java.util.IdentityHashMap[Predicate, Int => Match]
    private var row = -1
    private var ofFile: Option[FactLookup] = None

    def moveTo(next: Int): Unit = {
      row = next
      ofFile = None
    }

    /** Evaluates a part of the predicate on the bounds of the file. */
    val byBounds: Predicate => Match = part => parts.computeIfAbsent(part, trust.rowMatch(segment, _))(row)

    override def find(column: ColumnId, kind: FactKind): Option[Fact] = {
      if (ofFile.isEmpty) ofFile = Some(facts.of(paths.path(row), segment.fileSizeBytes(row)))
      val found = ofFile.flatMap(_.find(column, kind))
      if (found.isDefined) answered += column -> kind
      found
    }

    override def held(column: ColumnRef): Option[Seq[ZoneValue]] = exact(column).flatMap(_.held(row))

    override def span(column: ColumnRef): Option[ColumnSpan] = exact(column).flatMap(_.span(row))

    private def exact(column: ColumnRef): Option[ExactColumn] =
      Option.when(column.mapKey.isEmpty && !facts.distrusted(column.fieldId)) {
        columns.getOrElseUpdate(column, new ExactColumn(segment, column, trust))
      }
  }

  /** The effect of facts and single values on the plan. */
  def report(nameOf: ColumnId => String): FactReport =
    FactReport(
      evaluated,
      kept,
      answered.toSeq
        .map { case (column, kind) => (kind, nameOf(column)) }
        .sortBy { case (kind, name) => (kind.code, name) }
        .map { case (kind, name) => s"${kind.name}($name)" }
    )
}

private[prune] object FactFilter {

  /** None if neither facts of the table nor single values can refute the predicate. */
  def of(trust: BoundsTrust, predicate: Predicate): Option[FactFilter] =
    FactEvaluator.of(predicate, trust.facts.known).map(new FactFilter(_, trust))
}
