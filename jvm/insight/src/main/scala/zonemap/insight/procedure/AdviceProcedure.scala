// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.procedure

import org.apache.iceberg.BaseTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

import zonemap.insight.advice.{Advice, AdvisedTable, Adviser, ObserveScans, ObservedScan, ScanObservation}
import zonemap.spark.job.SparkJobRunner
import zonemap.spark.procedure.{Parameter, ResultColumn, ZoneMapProcedure}
import zonemap.spark.scan.SparkProcess
import zonemap.spark.table.IcebergTables

/** The procedure `advise`. It changes neither a table nor its index. */
private[zonemap] final class AdviceProcedure(process: SparkProcess, observations: ObserveScans) {
  import AdvisedTable.Verb

  private val columns = Seq[ResultColumn[Advice]](
    ResultColumn(
      "advice",
      StringType,
      "'sort' (a column for rewrite_data_files to sort by), 'fact' (a fact to build), 'columns' (columns " +
        "for the index to hold), 'metrics' (columns whose bounds the writers must collect), or 'no help' " +
        "(this will not help, with the reason in message).",
      _.kind
    ),
    ResultColumn("subject", StringType, "The column, the fact or the condition.", _.subject),
    ResultColumn("scans", LongType, "Number of observed scans that the files and bytes are the sum of.", _.scans),
    ResultColumn(
      "files_before",
      LongType,
      "Files that the scans of the row keep now, summed. A scan that only a join can prune counts the files " +
        "that one value of its key may be in.",
      _.before.files
    ),
    ResultColumn("files_after", LongType, "Files that they would keep, about; -1: not estimated.", _.after.files),
    ResultColumn("bytes_before", LongType, "Bytes of the files that they keep now, summed.", _.before.bytes),
    ResultColumn("bytes_after", LongType, "Bytes that they would keep, about; -1: not estimated.", _.after.bytes),
    ResultColumn("files_read", LongType, "Data files that the statement reads.", _.cost.files),
    ResultColumn("rows_read", LongType, "Rows in these files.", _.cost.rows),
    ResultColumn("expected_bytes", LongType, "Bytes that the statement writes.", _.cost.bytes),
    ResultColumn("statement", StringType, "The SQL that follows the advice; empty for 'no help'.", _.statement),
    ResultColumn("message", StringType, "One sentence with numbers.", _.message)
  )

  val Advise: ZoneMapProcedure = ZoneMapProcedure(
    "advise",
    "Advises on the layout and the index of a table, from the newest scans that this driver planned, or from " +
      "queries that are analysed and not executed. The estimate of a sort takes rows to be " +
      "spread evenly between the bounds of each file; a scan without a use of the sorted column counts all files of " +
      "its partitions. Facts are tried on 8 to 12 data files, which a Spark job reads; nothing of the trial is " +
      "retained. Queries that EXPLAIN, why_not or advise planned count as observed.",
    Seq(
      Parameter.Table,
      Parameter(
        "queries",
        ArrayType(StringType),
        Some("NULL"),
        "Texts of SELECTs to advise on; NULL: the scans of the table that this driver planned."),
      Parameter("max_scans", IntegerType, Some("200"), "The most observed scans, the newest first."),
      Parameter("facts", BooleanType, Some("true"), "false: advise on no facts and read no data file.")
    ),
    ResultColumn.schema(columns)
  ) { (spark, arguments) =>
    val target = targetOf(spark, arguments.text("table"))
    val scans = arguments.texts("queries") match {
      case Nil     => observed(target, arguments.count("max_scans"))
      case queries => ofQueries(spark, target, queries)
    }
    val runner = Option.when(arguments.flag("facts"))(new SparkJobRunner(spark, target.table))
    new Adviser(process.settings(spark), process.iceberg).of(target, scans, runner).map(ResultColumn.row(columns, _))
  }

  private def targetOf(spark: SparkSession, name: String): AdvisedTable = {
    val table = IcebergTables.load(spark, name, Verb)
    IcebergTables.requireIndexable(table, name, Verb)
    val snapshot = Option(table.currentSnapshot()).getOrElse(
      throw new IllegalArgumentException(
        s"Cannot $Verb '$name': the table has no snapshot. Write to the table and run queries first."))
    val (catalog, parts) = IcebergTables.parts(spark, name)
    AdvisedTable(table.asInstanceOf[BaseTable], snapshot, name, catalog, parts)
  }

  private def observed(target: AdvisedTable, most: Int): Seq[ObservedScan] = {
    val found = observations.newest.filter(target.isReadBy).take(most)
    if (found.isEmpty)
      target.refuse(
        "this driver has planned no scan of it that can be observed, with conditions of at most 500 values on the " +
          "columns that it has now, or max_scans is 0",
        "Run queries first, or name some with queries => array('SELECT ...')"
      )
    found
  }

  private def ofQueries(spark: SparkSession, target: AdvisedTable, queries: Seq[String]): Seq[ObservedScan] = {
    val found = queries
      .flatMap { text =>
        ScanObservation.of(ReadQuery.of(spark, text, s"$Verb a table by").optimizedPlan, isRetained = false)
      }
      .filter(target.isReadBy)
    if (found.isEmpty)
      target.refuse(
        "none of the queries has a scan of it that zonemap plans",
        "Give queries that read the table, with spark.sql.zonemap.enabled, or leave queries out")
    found
  }
}
