// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.procedure

import org.apache.iceberg.BaseTable
import org.apache.spark.sql.SparkSession
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
import zonemap.spark.scan.SparkMinor.ClassicSession
import zonemap.spark.table.IcebergTables

/** The procedures that explain plans and layouts. They change neither a table nor its index. */
private[zonemap] final class DiagnosticProcedures(process: SparkProcess, history: PlanHistory, runs: QueryRuns) {
  private val whyNot = new WhyNot(process.tables)

  private val texts = MapType(StringType, StringType, valueContainsNull = false)

  private val whyNotColumns = Seq[ResultColumn[WhyNotRow]](
    ResultColumn("scan", IntegerType, "Number of the scan in the plan, from 1; 0 if the plan has none.", _.scan),
    ResultColumn("table", StringType, "The table that the scan reads.", _.table),
    ResultColumn("part", StringType, "'scan', 'condition', or an operator such as 'top-k bound'.", _.part),
    ResultColumn(
      "text",
      StringType,
      "The condition as Spark's optimizer wrote it, or the predicate of the scan.",
      _.text),
    ResultColumn(
      "became",
      StringType,
      "Mode of the scan, or the predicate that the condition became; empty if nothing.",
      _.became),
    ResultColumn(
      "decided_by",
      StringType,
      "The partitions, bounds and facts that evaluate the condition.",
      _.decidedBy),
    ResultColumn(
      "files_before",
      LongType,
      "Files before the condition, if the conditions are applied one after the other; -1: not counted.",
      _.before),
    ResultColumn("files_after", LongType, "Files after it; -1: not counted.", _.after),
    ResultColumn("files_alone", LongType, "Files that the condition alone keeps; -1: not counted.", _.alone),
    ResultColumn("code", StringType, "Name of the reason or the effect ([all codes](reasons.md)).", _.code),
    ResultColumn("arguments", texts, "Values of the reason, by name.", _.arguments),
    ResultColumn("message", StringType, "One sentence with numbers.", _.message),
    ResultColumn(
      "remedy",
      StringType,
      "What to do. A statement in it is one that kept clearly fewer files in a trial.",
      _.remedy)
  )

  val WhyNotCall: ZoneMapProcedure = ZoneMapProcedure(
    "why_not",
    "Explains a query without running it: a row for each scan of an Iceberg table, each condition of its filter, and " +
      "each sort, LIMIT, join and aggregate above it. \"About\" marks estimates: that of a sort takes rows to be spread " +
      "evenly between the bounds of each file, and values to be equally frequent. Facts are tried on 8 to 12 data " +
      "files, which a Spark job reads, as by advise.",
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
    ResultColumn(
      "cluster_by_keys",
      StringType,
      "The columns, as 'LINEAR(a, b)'.",
      _.keys.map(SqlText.sortKey).mkString("LINEAR(", ", ", ")")),
    ResultColumn("total_partition_count", LongType, "Number of data files.", _.intervals.files),
    ResultColumn(
      "total_constant_partition_count",
      LongType,
      "Number of files that hold a single value of each column.",
      _.intervals.constant),
    ResultColumn(
      "average_overlaps",
      DoubleType,
      "Number of other files that share a value with a file, on average over the files with bounds.",
      c => rounded(c.intervals.overlaps.averageCount)
    ),
    ResultColumn(
      "average_depth",
      DoubleType,
      "The depth of a file is the largest number of files, itself included, that may hold one of its " +
        "values; the average over the files with bounds.",
      c => rounded(c.intervals.overlaps.averageDepth)
    ),
    ResultColumn(
      "partition_depth_histogram",
      MapType(StringType, LongType, valueContainsNull = false),
      "Number of files by depth: up to 16 one by one, then up to the next power of two.",
      _.histogram
    ),
    ResultColumn(
      "partitions_without_bounds",
      LongType,
      "Number of files without bounds of a column; they are in no average.",
      _.intervals.withoutBounds),
    ResultColumn(
      "partitions_of_nulls",
      LongType,
      "Number of files that hold only nulls in a column; they are in no average.",
      _.intervals.onlyNulls),
    ResultColumn("snapshot_id", LongType, "The snapshot of the numbers.", _.snapshotId),
    ResultColumn("notes", StringType, "What the averages leave out; empty if nothing.", _.notes)
  )

  val ClusteringInformation: ZoneMapProcedure = ZoneMapProcedure(
    "clustering_information",
    "Shows how far the data files of the table's current snapshot overlap in the values of some columns, from the " +
      "bounds in the index. The names are those of Snowflake's function, whose partitions are data files here. " +
      "Files without bounds of a column, and files that hold only nulls in a column, are counted in columns of their " +
      "own and are in no average. Bounds of texts that the writer cut short, and rounded bounds of the index, count as they are, so " +
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
    ResultColumn("query", StringType, "The text of the query.", _.query),
    ResultColumn("check", StringType, "'pruned files', 'rows' or 'tasks'.", _.check),
    ResultColumn("table", StringType, "The table of a scan; empty for the rows of the whole query.", _.table),
    ResultColumn("verdict", StringType, "'equal', 'different' or 'not checked'.", _.verdict),
    ResultColumn(
      "with_index",
      LongType,
      "Pruned files: rows in them that satisfy the conditions, which must be 0. Rows: rows of the query. " +
        "Tasks: planned files. -1: not counted.",
      _.withIndex
    ),
    ResultColumn(
      "without_index",
      LongType,
      "Pruned files: number of files that were read. Rows: rows of the query without zonemap. Tasks: live " +
        "files. -1: not counted.",
      _.without
    ),
    ResultColumn("detail", StringType, "What was compared, the difference, or why it was not checked.", _.detail)
  )

  val Verify: ZoneMapProcedure = ZoneMapProcedure(
    "verify",
    "Checks that the index changes no result, with three checks of a query. 'pruned files' reads a sample of the data " +
      "files that the plan pruned, and counts the rows in them that satisfy the conditions. 'rows' runs the query " +
      "with and without zonemap, and compares the number of rows and a digest. 'tasks' compares each planned task " +
      "with Iceberg's. For a table, the queries are SELECT * with a condition column = value, " +
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
    ResultColumn("planned_at", TimestampType, "Time at which the plan was complete.", _.atMillis * 1000),
    ResultColumn("table", StringType, "The table that it reads.", _.table),
    ResultColumn("mode", StringType, "'EXACT', 'HYBRID' or 'STOCK'.", _.mode),
    ResultColumn("files_considered", LongType, "Live files; -1 if Iceberg planned.", _.considered),
    ResultColumn("files_kept", LongType, "Planned files; -1 if Iceberg planned.", _.kept),
    ResultColumn("milliseconds", DoubleType, "Time from the request to the last task.", _.millis),
    ResultColumn("predicate", StringType, "The condition that the index evaluated.", _.predicate),
    ResultColumn("reason", StringType, "Why Iceberg planned; empty if the index did.", _.reason),
    ResultColumn(
      "tier",
      StringType,
      "Where the segments were: 'hot', 'cold' or 'both'; empty if Iceberg planned.",
      _.tier),
    ResultColumn("facts", StringType, "Facts that some of these files have.", _.facts),
    ResultColumn("top_k", StringType, "The bound of the first rows; empty without one.", _.topK),
    ResultColumn("limit", LongType, "Number of rows of a LIMIT that pruned files; else -1.", _.limit),
    ResultColumn(
      "runs",
      LongType,
      "Number of executions of the query: 0 if it was only planned, as by EXPLAIN, why_not or advise. A " +
        "query that fails has run, a scan below a cache runs once, and the queries of shadow mode and verify " +
        "do not count.",
      _.runs.get
    ),
    ResultColumn(
      "files_after_bounds",
      LongType,
      "Files that partitions and bounds kept; -1 if Iceberg planned.",
      _.afterBounds),
    ResultColumn(
      "bytes_considered",
      LongType,
      "Size of all live files, delete files included, by the snapshot's summary; -1 if Iceberg planned.",
      _.consideredBytes),
    ResultColumn("bytes_kept", LongType, "Size of the planned files; -1 if Iceberg planned.", _.keptBytes),
    ResultColumn(
      "rows_considered",
      LongType,
      "Rows of all live files, deleted rows included, by the snapshot's summary; -1 if Iceberg planned.",
      _.consideredRows),
    ResultColumn(
      "rows_kept",
      LongType,
      "Rows of the planned files, deleted rows included; -1 if Iceberg planned.",
      _.keptRows),
    ResultColumn(
      "steps",
      ArrayType(step, containsNull = false),
      "The steps of the plan in order, with the files and bytes before and after each: 'partitions', " +
        "'bounds' (one for the conditions on each column), 'join keys', 'top-k bound', 'facts', 'limit', and " +
        "'aggregates' for files that the index answers. -1 bytes: not in memory. Empty unless the " +
        "query was explained, or executed with steps.enabled.",
      _.counted.all
    ),
    ResultColumn("snapshot_id", LongType, "The snapshot that it reads.", _.snapshotId)
  )

  val History: ZoneMapProcedure = ZoneMapProcedure(
    "planned_scans",
    "Shows the newest scans that reached the planner of this driver, at most 1,000 of all tables, the newest first. It " +
      "is in memory only and ends with the driver. A scan that no rule swaps, such as one with zonemap off, is not in it.",
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
