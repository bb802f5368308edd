// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.procedure

import org.apache.iceberg.BaseTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.types._

import zonemap.iceberg.report.SqlText
import zonemap.insight.advice.{ConditionAdvice, ScanObservation}
import zonemap.insight.explain.{WhyNot, WhyNotRow}
import zonemap.insight.history.{PlanHistory, PlanRecord}
import zonemap.insight.layout.Clustering
import zonemap.insight.shadow.Verdict
import zonemap.spark.job.SparkJobRunner
import zonemap.spark.metrics.QueryRuns
import zonemap.spark.procedure.{Parameter, ResultColumn, ZoneMapProcedure}
import zonemap.spark.scan.SparkProcess
import zonemap.spark.table.IcebergTables

/** The procedures that explain plans and layouts. They change neither a table nor its index. */
private[zonemap] final class DiagnosticProcedures(process: SparkProcess, history: PlanHistory, runs: QueryRuns) {
  private val whyNot = new WhyNot(process.tables)

  private val texts = MapType(StringType, StringType, valueContainsNull = false)

  private val whyNotColumns = Seq[ResultColumn[WhyNotRow]](
    ResultColumn("scan", IntegerType, _.scan),
    ResultColumn("table", StringType, _.table),
    ResultColumn("part", StringType, _.part),
    ResultColumn("text", StringType, _.text),
    ResultColumn("became", StringType, _.became),
    ResultColumn("decided_by", StringType, _.decidedBy),
    ResultColumn("files_before", LongType, _.before),
    ResultColumn("files_after", LongType, _.after),
    ResultColumn("files_alone", LongType, _.alone),
    ResultColumn("code", StringType, _.code),
    ResultColumn("arguments", texts, _.arguments),
    ResultColumn("message", StringType, _.message),
    ResultColumn("remedy", StringType, _.remedy)
  )

  val WhyNotCall: ZoneMapProcedure = ZoneMapProcedure(
    "why_not",
    "Explains a query without running it: a row for each scan of an Iceberg table, each condition of its filter, and " +
      "each sort, LIMIT, join and aggregate above it. became is the mode of a scan, or the predicate that a condition " +
      "became; decided_by the partitions, bounds and facts that evaluate it. files_before and files_after count the " +
      "files before and after a condition, if the conditions are applied one after the other; files_alone those that " +
      "the condition keeps alone; -1: not counted. code, arguments and message give the reason why files are kept " +
      "([all codes](reasons.md)), remedy what to do. \"About\" marks estimates: that of a sort takes rows to be spread " +
      "evenly between the bounds of each file, and values to be equally frequent. A statement in remedy is one that kept " +
      "clearly fewer files in a trial: facts are tried on 8 to 12 data files, which a Spark job reads, as by advise.",
    Seq(
      Parameter("query", StringType, None, "The text of one SELECT."),
      Parameter("facts", BooleanType, Some("true"), "false: try no facts and read no data file.")
    ),
    ResultColumn.schema(whyNotColumns)
  ) { (spark, arguments) =>
    val query = ReadQuery.of(spark, arguments.text("query"), "explain")
    val found =
      if (arguments.flag("facts")) whyNot.of(query.executedPlan, trial(spark)) else whyNot.of(query.executedPlan)
    found.map(ResultColumn.row(whyNotColumns, _))
  }

  private def trial(spark: SparkSession): WhyNot.Trial =
    (scan, details, conditions) => {
      val pinned = scan.table.pinned
      val observed = ScanObservation.conditions(details.relation, details.use, conditions)
      new ConditionAdvice(pinned, scan.sqlName).of(observed, new SparkJobRunner(spark, pinned.table))
    }

  private val clusteringColumns = Seq[ResultColumn[Clustering]](
    ResultColumn("cluster_by_keys", StringType, _.keys.map(SqlText.sortKey).mkString("LINEAR(", ", ", ")")),
    ResultColumn("total_partition_count", LongType, _.intervals.files),
    ResultColumn("total_constant_partition_count", LongType, _.intervals.constant),
    ResultColumn("average_overlaps", DoubleType, c => rounded(c.intervals.overlaps.averageCount)),
    ResultColumn("average_depth", DoubleType, c => rounded(c.intervals.overlaps.averageDepth)),
    ResultColumn("partition_depth_histogram", MapType(StringType, LongType, valueContainsNull = false), _.histogram),
    ResultColumn("partitions_without_bounds", LongType, _.intervals.withoutBounds),
    ResultColumn("partitions_of_nulls", LongType, _.intervals.onlyNulls),
    ResultColumn("snapshot_id", LongType, _.snapshotId),
    ResultColumn("notes", StringType, _.notes)
  )

  val ClusteringInformation: ZoneMapProcedure = ZoneMapProcedure(
    "clustering_information",
    "Shows how far the data files of the table's current snapshot overlap in the values of some columns, from the " +
      "bounds in the index. The names are those of Snowflake's function, whose partitions are data files here. " +
      "average_overlaps is the number of other files that share a value with a file; the depth of a file is the " +
      "largest number of files, itself included, that may hold one of its values. Both are averages over the files " +
      "with bounds. partition_depth_histogram counts files by depth: up to 16 one by one, then up to the next power " +
      "of two. total_constant_partition_count counts files that hold a single value of each column. Files without " +
      "bounds of a column, and files that hold only nulls in a column, are counted in columns of their own and are in " +
      "no average. Bounds of texts that the writer cut short, and rounded bounds of the index, count as they are, so " +
      "the overlap may be less than shown.",
    Seq(
      Parameter.Table,
      Parameter(
        "columns",
        ArrayType(StringType),
        Some("NULL"),
        "Names of the columns, in the order in which a sort compares them; NULL: the columns of the table's sort order."
      )
    ),
    ResultColumn.schema(clusteringColumns)
  ) { (spark, arguments) =>
    val name = arguments.text("table")
    val verb = "compute the clustering of"
    val table = IcebergTables.load(spark, name, verb)
    IcebergTables.requireIndexable(table, name, verb)
    val base = table.asInstanceOf[BaseTable]
    val found = Clustering.of(base, name, arguments.texts("columns"), process.settings(spark), process.iceberg)
    Seq(ResultColumn.row(clusteringColumns, found))
  }

  private val verdictColumns = Seq[ResultColumn[Verdict]](
    ResultColumn("query", StringType, _.query),
    ResultColumn("check", StringType, _.check),
    ResultColumn("table", StringType, _.table),
    ResultColumn("verdict", StringType, _.verdict),
    ResultColumn("with_index", LongType, _.withIndex),
    ResultColumn("without_index", LongType, _.without),
    ResultColumn("detail", StringType, _.detail)
  )

  val Verify: ZoneMapProcedure = ZoneMapProcedure(
    "verify",
    "Checks that the index changes no result, with three checks of a query. 'pruned files' reads a sample of the data " +
      "files that the plan left out, and counts the rows in them that satisfy the conditions: with_index is that " +
      "number, which must be 0, without_index the number of files that were read. 'rows' runs the query with and " +
      "without zonemap, and compares the number of rows and a digest. 'tasks' compares each planned task with " +
      "Iceberg's: with_index counts planned files, without_index live files. verdict is 'equal', 'different', or " +
      "'not checked' with the reason in detail. For a table, the queries are SELECT * with a condition column = value, " +
      "for the first columns with bounds, with a value from a file in the middle. The queries run in full, and the " +
      "tables that show a difference in rows or tasks are put into quarantine, as in shadow mode.",
    Seq(
      Parameter("query", StringType, Some("NULL"), "The text of one SELECT."),
      Parameter("table", StringType, Some("NULL"), "Identifier of the Iceberg table, such as 'lake.db.t'."),
      Parameter("max_files", IntegerType, Some("8"), "The most pruned files that are read for each scan; 0: none."),
      Parameter("max_columns", IntegerType, Some("3"), "The most columns of a table for which a query is checked.")
    ),
    ResultColumn.schema(verdictColumns)
  ) { (spark, arguments) =>
    new VerifyCall(spark.asInstanceOf[ClassicSession], process, process.settings(spark))
      .verdicts(
        arguments.optionalText("query"),
        arguments.optionalText("table"),
        arguments.count("max_files"),
        arguments.count("max_columns"))
      .map(ResultColumn.row(verdictColumns, _))
  }

  /** The fields of a [[zonemap.iceberg.report.StepRecord]], in its order. */
  private val step = Seq("files_before", "files_after", "bytes_before", "bytes_after").foldLeft(
    new StructType().add("step", StringType, nullable = false).add("text", StringType, nullable = false))(
    _.add(_, LongType, nullable = false))

  private val historyColumns = Seq[ResultColumn[PlanRecord]](
    ResultColumn("planned_at", TimestampType, _.atMillis * 1000),
    ResultColumn("table", StringType, _.table),
    ResultColumn("mode", StringType, _.mode),
    ResultColumn("files_considered", LongType, _.considered),
    ResultColumn("files_kept", LongType, _.kept),
    ResultColumn("milliseconds", DoubleType, _.millis),
    ResultColumn("predicate", StringType, _.predicate),
    ResultColumn("reason", StringType, _.reason),
    ResultColumn("tier", StringType, _.tier),
    ResultColumn("facts", StringType, _.facts),
    ResultColumn("top_k", StringType, _.topK),
    ResultColumn("limit", LongType, _.limit),
    ResultColumn("runs", LongType, _.runs.get),
    ResultColumn("files_after_bounds", LongType, _.afterBounds),
    ResultColumn("bytes_considered", LongType, _.consideredBytes),
    ResultColumn("bytes_kept", LongType, _.keptBytes),
    ResultColumn("rows_considered", LongType, _.consideredRows),
    ResultColumn("rows_kept", LongType, _.keptRows),
    ResultColumn("steps", ArrayType(step, containsNull = false), _.counted.all),
    ResultColumn("snapshot_id", LongType, _.snapshotId)
  )

  val History: ZoneMapProcedure = ZoneMapProcedure(
    "planned_scans",
    "Shows the newest scans that reached the planner of this driver, at most 1,000 of all tables, the newest first. It " +
      "is in memory only and ends with the driver. A scan that no rule swaps, such as one with zonemap off, is not in it. files_considered, files_after_bounds and " +
      "files_kept count files; they are -1 if Iceberg planned the scan, for the reason in reason. bytes_considered is " +
      "the size of all live files, delete files included, by the snapshot's summary, and bytes_kept that of the kept " +
      "files; rows_considered and rows_kept count rows in the same way, deleted rows included. steps has the steps of " +
      "the plan in order, with the files and bytes before and after each: 'partitions', 'bounds' (one for the " +
      "conditions on each column), 'join keys', 'top-k bound', 'facts', 'limit', and 'aggregates' for files that the " +
      "index answers. They are counted once the query is explained, or executed with steps.enabled; else steps is " +
      "empty. -1 bytes: not in memory. limit is the number of rows of a LIMIT that left out files, else -1. " +
      "milliseconds is the time from the request to the last task. runs is the number of executions of the query: 0 if " +
      "it was only planned, as by EXPLAIN, why_not or advise. A query that fails has run, a scan below a cache runs once, " +
      "and the queries of shadow mode and verify do not count.",
    Seq(
      Parameter(
        "table",
        StringType,
        Some("NULL"),
        "Identifier of the Iceberg table, such as 'lake.db.t'; NULL: all tables."),
      Parameter("max_scans", IntegerType, Some("100"), "The most rows.")
    ),
    ResultColumn.schema(historyColumns)
  ) { (spark, arguments) =>
    val name = arguments.optionalText("table").map(IcebergTables.load(spark, _, "show the planned scans of").name())
    runs.await(spark.sparkContext)
    history.newest
      .filter(scan => name.forall(_ == scan.table))
      .take(arguments.count("max_scans"))
      .map(ResultColumn.row(historyColumns, _))
  }

  val all: Seq[ZoneMapProcedure] = Seq(WhyNotCall, ClusteringInformation, Verify, History)

  private def rounded(value: Double): Double = Math.round(value * 10000) / 10000.0
}
