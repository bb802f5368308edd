// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{FileScanTask, Schema}
import org.apache.iceberg.expressions.Expressions
import org.apache.iceberg.metrics.ScanMetrics
import org.apache.iceberg.types.TypeUtil
import org.apache.iceberg.util.SnapshotUtil

import zonemap.core.fact.FactKind
import zonemap.core.predicate.{ColumnId, ColumnRef, Predicate}
import zonemap.core.segment.Segment
import zonemap.core.value.ZoneValue
import zonemap.iceberg.answer._
import zonemap.iceberg.build.IndexedColumns
import zonemap.iceberg.convert.PartitionTuples
import zonemap.iceberg.prune._
import zonemap.iceberg.report.{AggregateReason, PlanReport, StockReason, SwapReason}
import zonemap.iceberg.snapshot.SnapshotIndex
import zonemap.iceberg.store.StoreBudget

/**
 * Evaluates the index of a relation's pinned snapshot before the scan is planned. All results are empty if Iceberg
 * plans the snapshot.
 *
 * The index of the snapshot is resolved once for each relation; the scan and copies of the table use the same index.
 */
private[zonemap] object IndexQuestions {

  /** A bound of the first rows by one column, if the bound prunes at least one file. */
  def topK(relation: PinnedRelation, request: TopK): Option[TopKBound] =
    ofFirstRows(relation, request)(TopKBound.of(_, _, relation.trust))

  /** The value that as many rows as are needed are proven to equal or to sort before; it may prune no file. */
  def topKValue(relation: PinnedRelation, request: TopK): Option[ZoneValue] =
    ofFirstRows(relation, request)(TopKBound.valueOf(_, _, relation.trust))

  private def ofFirstRows[A](relation: PinnedRelation, request: TopK)(
      found: (SnapshotIndex, TopK) => Option[A]): Option[A] =
    StoreBudget.within(relation.storeBudget) {
      indexOf(relation).flatMap { case (index, schema) =>
        Option
          .when(BoundScan.has(schema, request.column))(request.copy(filter = BoundScan.proving(request.filter, schema)))
          .flatMap(found(index, _))
      }
    }

  /** Whether a part of the files provably holds the needed rows. */
  def isWorthwhile(relation: PinnedRelation, limit: LimitCut): Boolean = StoreBudget.within(relation.storeBudget) {
    indexOf(relation).exists { case (index, schema) =>
      LimitCut.isWorthwhile(index, limit.copy(filter = BoundScan.proving(limit.filter, schema)), relation.trust)
    }
  }

  /** The kinds of facts that the table has about a column. */
  def factsOf(relation: PinnedRelation, column: ColumnId): Set[FactKind] =
    if (relation.covers) relation.facts.kindsOf(column) else Set.empty

  /**
   * Whether a condition on these columns can be evaluated on some files: because they hold so few values of each of the
   * columns, or on bounds if the condition `isBounded`. The estimate reads only a few segments, preferably ones in memory, because it decides only whether evaluation is
   * worth trying, never which files are pruned.
   */
  def canEvaluate(relation: PinnedRelation, columns: Seq[ColumnRef], isBounded: Boolean): Boolean =
    StoreBudget.within(relation.storeBudget) {
      indexOf(relation).exists { case (index, _) =>
        val facts = relation.facts
        val segments = index.segments.map(_.segment)
        columns.forall { column =>
          facts.kindsOf(column.id)(FactKind.Values) ||
          (column.mapKey.isEmpty && !facts.distrusted(column.fieldId) &&
            (isPartition(relation, column) ||
              (if (isBounded) segments.exists(_.columnIds(column.fieldId)) else hasSingles(segments, column.fieldId))))
        }
      }
    }

  /**
   * Whether partitions, and whether bounds, can prune by a condition on a column. This reads only what is in memory: a
   * column that is not loaded counts as one with bounds if the index has it.
   */
  def known(relation: PinnedRelation, column: ColumnRef): KnownOfColumn =
    indexOf(relation).fold(KnownOfColumn(partitions = false, bounds = false)) { case (index, _) =>
      val isSource = relation.table.specs().values().asScala.exists { spec =>
        spec.fields().asScala.exists(field => field.sourceId() == column.fieldId && !field.transform().isVoid)
      }
      val segments = index.segments.iterator.map(_.segment).filter(_.columnIds(column.fieldId))
      val hasBounds = segments.exists(_.loadedColumn(column.fieldId).forall(_.knowsAny))
      KnownOfColumn(
        isSource && column.mapKey.isEmpty,
        hasBounds && column.mapKey.isEmpty && !relation.facts.distrusted(column.fieldId))
    }

  /** The columns that the index would hold bounds of, had they been chosen. */
  def leftOut(relation: PinnedRelation, columns: Seq[ColumnRef]): Seq[ColumnRef] = {
    val choice = relation.known.choice
    lazy val bounded = IndexedColumns.of(Seq(relation.table.schema())).fieldIds.toSet
    columns.filter(c => c.mapKey.isEmpty && !choice.holds(c.fieldId) && bounded(c.fieldId))
  }

  /** The names of the columns of the index and of others. */
  def columnsWith(relation: PinnedRelation, others: Seq[ColumnRef]): Seq[String] =
    IndexedColumns.namesOf(relation.table.schema(), relation.known.choice, others.map(_.fieldId))

  private def isPartition(relation: PinnedRelation, column: ColumnRef): Boolean =
    relation.table.specs().values().asScala.exists(PartitionTuples.identityPosition(_, column.fieldId).isDefined)

  private def hasSingles(segments: IndexedSeq[Segment], fieldId: Int): Boolean = {
    val loaded = segments.iterator.flatMap(_.loadedColumn(fieldId)).take(MaxLoaded).toSeq
    if (loaded.nonEmpty) loaded.exists(_.hasSingles)
    else segments.sortBy(-_.rows).take(MaxUnloaded).flatMap(_.column(fieldId)).exists(_.hasSingles)
  }

  private val MaxLoaded = 8
  private val MaxUnloaded = 2

  /** The results of aggregates over whole files of a scan that was planned from `files` and has `tasks`. */
  def aggregates(
      relation: PinnedRelation,
      files: FileSet,
      tasks: IndexedSeq[FileScanTask],
      question: AggregateQuestion): Either[AggregateReason, FileAnswers] =
    relation.snapshotId.toRight[AggregateReason](AggregateReason.NotFromIndex).flatMap { snapshotId =>
      fitting(question, SnapshotUtil.schemaFor(relation.table, snapshotId)).flatMap { question =>
        StoreBudget.within(relation.storeBudget)(new FileAggregates(question, tasks).answer(files))
      }
    }

  /**
   * The results of aggregates over all rows that satisfy the condition, with the report of the plan of their files. It
   * makes no task. `None` if the index does not prove every result, or does not cover the snapshot.
   *
   * @param candidates TRUE or unknown for each of these rows; other rows may satisfy it too
   * @param schema the schema that the relation was resolved with
   */
  def aggregates(
      table: ZoneMapTable,
      schema: Schema,
      candidates: Predicate,
      question: AggregateQuestion): Option[(Seq[GroupAnswer], PlanReport)] =
    for {
      (_, snapshotSchema) <- indexOf(table.pinned)
      if table.hints.limit.isEmpty && table.hints.topK.isEmpty
      fitting <- fitting(question, snapshotSchema).toOption
      of = table.withFunctions(Predicate.and(table.hints.functions.toSeq :+ candidates: _*), "")
      read = Predicate.fieldIds(candidates) ++ fitting.fieldIds
      request = requestOf(table.pinned, TypeUtil.select(schema, read.map(Int.box).asJava), snapshotSchema)
      planned <- ScanPlanner.withoutTasks(of, request)(_.aggregates(fitting).toRight(())).toOption
      found <- planned.toOption
    } yield found

  /**
   * The rows of a metadata table of the pinned snapshot, with the report of the plan of all its files. No task is made.
   * If there is a reason why the index does not hold the snapshot, it is reported as that of a scan.
   *
   * @param table the table that the metadata table is of
   */
  def metadata(
      table: ZoneMapTable,
      question: MetadataQuestion): Either[SwapReason, (Seq[Array[AnyRef]], PlanReport)] = {
    val relation = table.pinned
    relation.snapshotId.filter(relation.table.snapshot(_) != null) match {
      case None => Left(SwapReason.NoIndex(StockReason.EmptyTable))
      case Some(id) =>
        val started = System.nanoTime()
        val request = requestOf(relation, new Schema(), SnapshotUtil.schemaFor(relation.table, id))
        ScanPlanner
          .withoutTasks(table, request)(_.metadata(question))
          .left
          .map { reason =>
            val millis = (System.nanoTime() - started) / 1e6
            ScanPlanner.report(table, PlanReport.stock(table.baseName, id, reason, millis))
            SwapReason.NoIndex(reason)
          }
          .joinRight
    }
  }

  /** A request for all files of the pinned snapshot that the hints of a table keep. */
  private def requestOf(relation: PinnedRelation, projection: Schema, snapshotSchema: Schema): ScanRequest =
    ScanRequest(
      relation.table,
      relation.table.snapshot(relation.snapshotId.get),
      projection,
      snapshotSchema,
      () => relation.table.specs(),
      Expressions.alwaysTrue(),
      caseSensitive = true,
      ignoreResiduals = false,
      returnsColumnStats = false,
      ScanMetrics.noop()
    )

  /** The question without conditions on columns that the schema lacks; a reason if it asks for such a column. */
  private def fitting(question: AggregateQuestion, schema: Schema): Either[AggregateReason, AggregateQuestion] = {
    def has(column: ColumnRef) = BoundScan.has(schema, column)
    question.aggregates
      .flatMap(FileAggregate.columnOf)
      .find(!has(_))
      .map(c => AggregateReason.Function(c.name))
      .orElse(question.grouping.map(_.column).find(!has(_)).map(c => AggregateReason.Grouping(c.name)))
      .toLeft(question.copy(filter = BoundScan.proving(question.filter, schema)))
  }

  /** The index of the pinned snapshot, and the snapshot's schema. */
  private def indexOf(relation: PinnedRelation): Option[(SnapshotIndex, Schema)] =
    for {
      resolved <- relation.covered
      snapshotId <- relation.snapshotId
    } yield (resolved.index, SnapshotUtil.schemaFor(relation.table, snapshotId))
}

/** Whether some spec partitions by a column, and whether the index has bounds of it. */
private[zonemap] final case class KnownOfColumn(partitions: Boolean, bounds: Boolean)
