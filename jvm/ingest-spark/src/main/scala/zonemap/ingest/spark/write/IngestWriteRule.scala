// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.write

import scala.jdk.CollectionConverters._

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSource

/**
 * Sends the rows of a write to the ingest queue of its table, if the write names the format `zonemap-ingest` or sets the
 * write option of that name to `true`.
 *
 * Spark resolves a write by table name to Iceberg's table and ignores the format, so the option is the only mark of such
 * a write. The rule looks at the root of the plan only, and it replaces the table, never the query. A command that
 * cannot go to the queue, such as an overwrite, fails if it sets the option.
 */
private[zonemap] final class IngestWriteRule(sink: IngestSink) extends Rule[LogicalPlan] {
  import IngestWriteRule._

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan match {
      case append: AppendData =>
        append.table match {
          case relation: DataSourceV2Relation =>
            val chosen = isChosen(append.writeOptions, relation)
            queued(relation.table, chosen, Some(relation)).fold[LogicalPlan](append) { table =>
              append.copy(table = planned(relation, table))
            }
          case _ => append
        }
      case write: WriteToMicroBatchDataSource =>
        val chosen = IngestOptions.isChosen(write.writeOptions)
        queued(write.table, chosen, write.relation).fold[LogicalPlan](write) { table =>
          val named = write.relation.getOrElse(DataSourceV2Relation.create(table, None, None))
          write.copy(relation = Some(planned(named, table)), table = table)
        }
      case overwrite: OverwriteByExpression if isChosen(overwrite.writeOptions, overwrite.table) =>
        refuse(overwrite.table.name)
      case overwrite: OverwritePartitionsDynamic if isChosen(overwrite.writeOptions, overwrite.table) =>
        refuse(overwrite.table.name)
      case create: CreateTableAsSelect if IngestOptions.isChosen(create.writeOptions) =>
        refuse(create.tableName.toString)
      case replace: ReplaceTableAsSelect if IngestOptions.isChosen(replace.writeOptions) =>
        refuse(replace.tableName.toString)
      case other => other
    }

  /** The table to write to instead of `table`; `None` if the write does not change. */
  private def queued(table: Table, isChosen: Boolean, named: Option[DataSourceV2Relation]): Option[IngestTable] =
    table match {
      case ours: IngestTable               => Option.when(!ours.isPlanned)(ours.planned)
      case iceberg: SparkTable if isChosen => Some(new IngestTable(iceberg, named.flatMap(placeOf), true, sink))
      case other if isChosen               => refuseKind(other)
      case _                               => None
    }

  /** The relation around `table`, with the catalog of the table, unless the relation has one. */
  private def planned(relation: DataSourceV2Relation, table: IngestTable): DataSourceV2Relation =
    relation.copy(
      table = table,
      catalog = relation.catalog.orElse(table.catalog.map(_._1)),
      identifier = relation.identifier.orElse(table.catalog.map(_._2)))
}

private object IngestWriteRule {
  private val Key = IngestOptions.Format

  private def isChosen(options: Map[String, String], relation: LogicalPlan): Boolean =
    IngestOptions.isChosen(options) || (relation match {
      case relation: DataSourceV2Relation => IngestOptions.isChosen(relation.options.asScala.toMap)
      case _                              => false
    })

  /** The catalog of a relation, and the name within it. */
  private def placeOf(relation: DataSourceV2Relation) =
    for (catalog <- relation.catalog; identifier <- relation.identifier) yield (catalog, identifier)

  private def refuse(table: String): Nothing =
    throw new IllegalArgumentException(
      s"Cannot write to '$table' with option '$Key': the queue takes appends to an existing table only. Append, or " +
        "remove the option.")

  private def refuseKind(table: Table): Nothing =
    throw new IllegalArgumentException(
      s"Cannot write to '${table.name()}' with option '$Key': it is not an Iceberg table. Name an Iceberg table, or " +
        "remove the option.")
}
