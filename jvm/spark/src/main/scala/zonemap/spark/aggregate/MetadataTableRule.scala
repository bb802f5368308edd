// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.aggregate

import org.apache.iceberg.spark.SparkUtil
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Left => _, _}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}

import zonemap.iceberg.answer.{MetadataQuestion, MetadataTable}
import zonemap.iceberg.plan.{IndexQuestions, ZoneMapTable}
import zonemap.iceberg.report.SwapReason
import zonemap.spark.scan.{FileNames, Guarded, IcebergRelation, PlannableTables, SparkTables, SwapDecision}
import zonemap.spark.scan.ZoneMapRelation

/**
 * Replaces relations of the metadata tables `partitions`, `files`, `data_files` and `delete_files` by rows from the
 * index, if it holds all columns that the query reads (SOUNDNESS, S188 to S190). No manifest is read.
 *
 * The rule runs when Spark has pruned columns, and before it plans scans. Filters and projections stay above the rows.
 * See ADR 43.
 */
private[zonemap] final class MetadataTableRule(tables: PlannableTables) extends Rule[LogicalPlan] {
  import MetadataTableRule._

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (hasMetadataTable(plan) && AggregatedScan.mayAnswer(plan) && !plan.exists(FileNames.areAskedBy)) replaced(plan)
    else plan

  private def replaced(plan: LogicalPlan): LogicalPlan =
    plan match {
      case ReadColumns(relation, table, metadata, columns) =>
        Guarded.orNothing("a metadata table from the index")(answered(relation, table, metadata, columns)).fold(plan) {
          rows => plan.transform { case `relation` => rows }
        }
      case other => other.mapChildren(replaced)
    }

  private def answered(
      relation: DataSourceV2Relation,
      table: SparkTable,
      metadata: MetadataTable,
      columns: Seq[AttributeReference]): Option[AnsweredRows] = {
    val found = for {
      ours <- tableOf(relation, table)
      _ <- missing(metadata, columns).toLeft(())
      partitions = Option(SparkTables.schema(table).findField("partition")).map(_.`type`().asStructType())
      question = MetadataQuestion(metadata, columns.map(_.name), partitions, SparkUtil.internalToSpark)
      answer <- IndexQuestions.metadata(ours, question)
    } yield {
      val (values, report) = answer
      val rows = values.map(row => new GenericInternalRow(row.asInstanceOf[Array[Any]]): InternalRow)
      val scan = DataSourceV2ScanRelation(relation, UnplannedScan(relation.schema), relation.output)
      val note = s"metadata table: ${rows.size} rows of ${table.name()} from the index, no manifest read"
      val of = ZoneMapRelation(relation, table, ours)
      AnsweredRows(columns, rows)(AnsweredScan(of, Some(report), note, scan, Nil))
    }
    found.left.foreach(relation.setTagValue(Tag, _))
    found.toOption
  }

  /** The table whose snapshot the relation shows. */
  private def tableOf(relation: DataSourceV2Relation, table: SparkTable): Either[SwapReason, ZoneMapTable] =
    tables.decideForMetadata(table, relation.options) match {
      case SwapDecision.Leave(reason) => Left(reason)
      case SwapDecision.Swap(inner, settings) =>
        Either.cond(
          ZoneMapRelation.isPinned(relation, table),
          new ZoneMapTable(tables.pinned(table, inner, settings)),
          SwapReason.MetadataOff("the read has options, or does not name its snapshot on Spark 4.0")
        )
    }
}

private[zonemap] object MetadataTableRule {

  private def hasMetadataTable(plan: LogicalPlan): Boolean =
    plan.exists {
      case IcebergRelation(_, table) => MetadataTable.of(table.table()).isDefined
      case _                         => false
    }

  private val Tag = TreeNodeTag[SwapReason]("zonemap.metadata-not-answered")

  /** The reason why the index did not answer the relation of a metadata table, if the rule found one. */
  def reasonFor(relation: DataSourceV2Relation): Option[SwapReason] = relation.getTagValue(Tag)

  private def missing(metadata: MetadataTable, columns: Seq[AttributeReference]): Option[SwapReason] = {
    val names = columns.map(_.name).filterNot(metadata.held)
    Option.when(names.nonEmpty)(SwapReason.MetadataColumns(names))
  }

  /** Matches projections and filters above a metadata table, with the columns of it that they read. */
  private object ReadColumns {
    def unapply(
        plan: LogicalPlan): Option[(DataSourceV2Relation, SparkTable, MetadataTable, Seq[AttributeReference])] = {
      val above = operators(plan)
      above.lastOption.map(_.children.head).getOrElse(plan) match {
        case IcebergRelation(relation, table) =>
          val read = AttributeSet(above.flatMap(_.references))
          val columns =
            if (above.exists(_.isInstanceOf[Project])) relation.output.filter(read.contains) else relation.output
          MetadataTable.of(table.table()).map((relation, table, _, columns))
        case _ => None
      }
    }

    private def operators(plan: LogicalPlan): List[LogicalPlan] =
      plan match {
        case _: Project | _: Filter => plan :: operators(plan.children.head)
        case _                      => Nil
      }
  }
}
