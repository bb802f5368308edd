package zonemap.iceberg.plan

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{FileScanTask, Schema}
import org.apache.iceberg.util.SnapshotUtil

import zonemap.core.fact.FactKind
import zonemap.core.predicate.{ColumnId, ColumnRef}
import zonemap.core.segment.Segment
import zonemap.iceberg.index.SnapshotIndex
import zonemap.iceberg.store.StoreBudget

/**
 * What the index of a relation's pinned snapshot says before its scan is planned. No answer where Iceberg plans.
 *
 * The snapshot is resolved once a relation; the scan, and copies of the table, use what was found.
 */
private[zonemap] object IndexQuestions {

  /** A bound of the first rows by one column, if some file falls out by it. */
  def topK(table: ZoneMapTable, asked: TopK): Option[TopKBound] = StoreBudget.within(table.storeBudget) {
    indexOf(table).flatMap { case (index, schema) =>
      Option
        .when(BoundScan.has(schema, asked.column))(asked.copy(filter = BoundScan.proving(asked.filter, schema)))
        .flatMap(TopKBound.of(index, _, trustOf(table)))
    }
  }

  /** Whether some of the files are sure to hold the rows wanted. */
  def pays(table: ZoneMapTable, limit: LimitCut): Boolean = StoreBudget.within(table.storeBudget) {
    indexOf(table).exists { case (index, schema) =>
      LimitCut.pays(index, limit.copy(filter = BoundScan.proving(limit.filter, schema)), trustOf(table))
    }
  }

  /** The kinds of facts that there are of a column. */
  def factsOf(table: ZoneMapTable, column: ColumnId): Set[FactKind] =
    if (ScanPlanner.covers(table)) table.process.index.factsOf(table).kindsOf(column) else Set.empty

  /**
   * Whether some files hold so few values of each of the columns that a condition on them can be evaluated. Told from few
   * segments, those in memory first, because it decides about effort only and never about files.
   */
  def canEvaluate(table: ZoneMapTable, columns: Seq[ColumnRef]): Boolean = StoreBudget.within(table.storeBudget) {
    indexOf(table).exists { case (index, _) =>
      val facts = table.process.index.factsOf(table)
      val segments = index.segments.map(_.segment)
      columns.forall { column =>
        facts.kindsOf(column.id)(FactKind.Values) ||
        (column.mapKey.isEmpty && !facts.distrusted(column.fieldId) &&
          (isPartition(table, column) || hasSingles(segments, column.fieldId)))
      }
    }
  }

  private def isPartition(table: ZoneMapTable, column: ColumnRef): Boolean =
    table
      .specs()
      .values()
      .asScala
      .exists(_.fields().asScala.exists { field =>
        field.sourceId() == column.fieldId && field.transform().isIdentity
      })

  private def hasSingles(segments: IndexedSeq[Segment], fieldId: Int): Boolean = {
    val loaded = segments.iterator.flatMap(_.loadedColumn(fieldId)).take(LoadedAsked).toSeq
    if (loaded.nonEmpty) loaded.exists(_.hasSingles)
    else segments.sortBy(-_.rows).take(UnloadedAsked).flatMap(_.column(fieldId)).exists(_.hasSingles)
  }

  private val LoadedAsked = 8
  private val UnloadedAsked = 2

  /** What whole files answer of aggregates over a scan that planned `tasks`. */
  def aggregates(
      table: ZoneMapTable,
      tasks: IndexedSeq[FileScanTask],
      asked: AggregateQuestion): Either[AggregateReason, FileAnswers] =
    Option(table.plannedFiles()) match {
      case Some(files) if table.snapshotId() != null =>
        val schema = SnapshotUtil.schemaFor(table, table.snapshotId())
        def has(column: ColumnRef) = BoundScan.has(schema, column)
        asked.aggregates
          .flatMap(FileAggregate.columnOf)
          .find(!has(_))
          .map(c => AggregateReason.Function(c.name))
          .orElse(asked.grouping.find(!has(_)).map(c => AggregateReason.Grouping(c.name)))
          .toLeft(asked.copy(filter = BoundScan.proving(asked.filter, schema)))
          .flatMap { question =>
            StoreBudget.within(table.storeBudget)(new FileAggregates(question, tasks).answer(files))
          }
      case _ => Left(AggregateReason.NotFromIndex)
    }

  private def trustOf(table: ZoneMapTable): BoundsTrust = ScanPlanner.trustOf(table, ScanPlanner.specsOf(table))

  /** The index of the pinned snapshot, and the snapshot's schema. */
  private def indexOf(table: ZoneMapTable): Option[(SnapshotIndex, Schema)] =
    if (!ScanPlanner.covers(table)) None
    else
      table.resolution().found.toOption.map { resolved =>
        (resolved.index, SnapshotUtil.schemaFor(table, table.snapshotId()))
      }
}
