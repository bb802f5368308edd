package zonemap.iceberg.plan

import org.apache.iceberg.Schema
import org.apache.iceberg.util.SnapshotUtil

import zonemap.core.fact.FactKind
import zonemap.core.predicate.{ColumnId, Predicate}
import zonemap.iceberg.index.{SnapshotIndex, TableFacts}

/**
 * What the index of a relation's pinned snapshot says before its scan is planned. No answer where Iceberg plans.
 *
 * The snapshot is resolved once a relation; the scan, and copies of the table, use what was found.
 */
private[zonemap] object IndexQuestions {

  /** A bound of the first rows by one column, if some file falls out by it. */
  def topK(table: ZoneMapTable, asked: TopK): Option[TopKBound] =
    indexOf(table).flatMap { case (index, schema) =>
      val facts = TableFacts.of(table)
      Option
        .when(BoundScan.has(schema, asked.column) && !facts.distrusted(asked.column.fieldId)) {
          asked.copy(filter = BoundScan.trusting(BoundScan.proving(asked.filter, schema), facts))
        }
        .flatMap(TopKBound.of(index, _))
    }

  /** Whether some of the files are sure to hold the rows wanted. */
  def pays(table: ZoneMapTable, limit: LimitCut): Boolean =
    indexOf(table).exists { case (index, schema) =>
      val filter: Predicate = BoundScan.trusting(BoundScan.proving(limit.filter, schema), TableFacts.of(table))
      LimitCut.pays(index, limit.copy(filter = filter))
    }

  /** The kinds of facts that there are of a column. */
  def factsOf(table: ZoneMapTable, column: ColumnId): Set[FactKind] =
    if (ScanPlanner.covers(table)) TableFacts.of(table).kindsOf(column) else Set.empty

  /** The index of the pinned snapshot, and the snapshot's schema. */
  private def indexOf(table: ZoneMapTable): Option[(SnapshotIndex, Schema)] =
    if (!ScanPlanner.covers(table)) None
    else
      table.resolution().found.toOption.map { resolved =>
        (resolved.index, SnapshotUtil.schemaFor(table, table.snapshotId()))
      }
}
