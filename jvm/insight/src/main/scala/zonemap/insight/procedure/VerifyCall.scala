// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.procedure

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.expressions.{EqualTo, Literal}
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{ByteType, IntegerType, LongType, ShortType}
import org.apache.spark.unsafe.types.UTF8String

import zonemap.iceberg.report.SqlText
import zonemap.iceberg.settings.PlannerSettings
import zonemap.insight.shadow.{Verdict, Verification}
import zonemap.spark.expression.BoundLiteral
import zonemap.spark.metrics.QueryRuns
import zonemap.spark.scan.{IcebergRelation, PlannableTables, SchemaColumns, SparkProcess, SparkTables}
import zonemap.spark.scan.SparkMinor.ClassicSession
import zonemap.spark.table.IcebergTables

/** The verdicts of one call of `verify`: of a query, or of queries with one condition each on a table. */
private[zonemap] final class VerifyCall(spark: ClassicSession, process: SparkProcess, settings: PlannerSettings) {
  import VerifyCall._

  private val verification = new Verification(process)

  def verdicts(query: Option[String], table: Option[String], maxFiles: Int, maxColumns: Int): Seq[Verdict] =
    (query, table) match {
      case (Some(text), None) => verification.of(spark, planned(ReadQuery.of(spark, text, Verb)), text, maxFiles)
      case (None, Some(name)) =>
        queriesOf(name, maxColumns).flatMap { case (text, plan) => verification.of(spark, plan, text, maxFiles) }
      case (Some(_), Some(name)) =>
        throw new IllegalArgumentException(
          s"Cannot $Verb table '$name' and a query: a call checks one of them. Remove 'table' or 'query'.")
      case (None, None) =>
        throw new IllegalArgumentException(
          s"Cannot $Verb nothing: the call names neither a query nor a table. Give query => 'SELECT ...' or table => " +
            "'catalog.namespace.table'.")
    }

  /** The queries for a table, each with its text. */
  private def queriesOf(name: String, maxColumns: Int): Seq[(String, QueryExecution)] = {
    val loaded = IcebergTables.load(spark, name, Verb)
    IcebergTables.requireIndexable(loaded, name, Verb)
    if (loaded.currentSnapshot() == null)
      throw new IllegalArgumentException(s"Cannot $Verb '$name': the table has no snapshot. Write to the table first.")
    val read = execution(UnresolvedRelation(CatalystSqlParser.parseMultipartIdentifier(name))).analyzed
    val found = read.collectFirst { case IcebergRelation(relation, table) => (relation, table) }
    val conditions =
      found.toSeq.flatMap { case (relation, table) => conditionsOf(name, relation, table) }.take(maxColumns)
    if (conditions.isEmpty)
      throw new IllegalArgumentException(
        s"Cannot $Verb '$name': max_columns is 0, or no column of it has bounds in a file. Give a query instead.")
    conditions
  }

  private def conditionsOf(
      name: String,
      relation: DataSourceV2Relation,
      table: SparkTable): Iterator[(String, QueryExecution)] = {
    val inner = PlannableTables.icebergTable(table)
    val files = inner.flatMap(process.tables.pinned(table, _, settings).liveFiles).getOrElse {
      throw new IllegalArgumentException(
        s"Cannot $Verb '$name': the index does not cover its current snapshot. ${SqlText.build(name)} indexes it.")
    }
    val columns = new SchemaColumns(relation, SparkTables.schema(table))
    for {
      attribute <- relation.output.iterator
      column <- columns.column(attribute)
      value <- files.someBound(column)
      literal <- BoundLiteral.of(value, attribute.dataType)
    } yield (
      s"SELECT * FROM $name WHERE ${SqlText.name(Seq(column.name))} = ${sqlOf(literal)}",
      planned(execution(Filter(EqualTo(attribute, literal), relation))))
  }

  /** The query with its plan, which is a planned scan of a check: see [[QueryRuns.isCheck]]. */
  private def planned(query: => QueryExecution): QueryExecution = {
    val conf = spark.sessionState.conf.clone()
    conf.setConfString(QueryRuns.CheckMark, "true")
    SQLConf.withExistingConf(conf) {
      val found = query
      found.executedPlan: Unit
      found
    }
  }

  private def execution(plan: LogicalPlan): QueryExecution =
    spark.sessionState.executePlan(plan, CommandExecutionMode.SKIP)
}

private object VerifyCall {
  private val Verb = "verify"

  /** The literal as a query writes it, whatever confs the session has. */
  private def sqlOf(literal: Literal): String =
    (literal.value, literal.dataType) match {
      case (text: UTF8String, _)                                  => SqlText.literal(text.toString)
      case (whole, LongType | IntegerType | ShortType | ByteType) => whole.toString
      case _                                                      => literal.sql
    }
}
