package zonemap.spark.procedure

import org.apache.iceberg.{Snapshot, Table}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

import zonemap.iceberg.build.FactRequest
import zonemap.iceberg.plan.PlannerSettings
import zonemap.iceberg.upkeep.{BuildResult, ColumnChange, FactBuild, FactResult, IndexAdmin, LevelMerge}
import zonemap.iceberg.upkeep.{Prewarm => UpkeepPrewarm}
import zonemap.spark.conf.ZoneMapConf
import zonemap.spark.rule.SparkProcess

/** The registry of `CALL zonemap.system.<name>`. */
private[spark] final class Procedures(process: SparkProcess) {
  private val index = process.iceberg.index

  private val table = Parameter("table", StringType, None, "Identifier of the Iceberg table, such as 'lake.db.t'.")

  private val buildColumns = new StructType()
    .add("snapshot_id", LongType, nullable = false)
    .add("data_files", LongType, nullable = false)
    .add("delete_files", LongType, nullable = false)
    .add("segments", IntegerType, nullable = false)
    .add("bytes", LongType, nullable = false)
    .add("seconds", DoubleType, nullable = false)

  private val factsDoc =
    "Facts of columns, such as 'values(status, tags[''type'']), bloom(user_id), ngrams(message), bounds(note), ranges(ts)'"

  val Build: ZoneMapProcedure = ZoneMapProcedure(
    "build",
    "Indexes the table's current snapshot from its manifests and writes the index to the table's store. With columns, " +
      "the index holds those from now on: segments that lack one are built anew, others lose what is not named. With " +
      "facts, a Spark job reads the data files that lack them; a row more for each fact, of the data files that have it. " +
      "wrong_bounds counts those whose manifest the rows contradict, where bounds are built. A table without a snapshot " +
      "has nothing to index: snapshot_id is -1 then.",
    Seq(
      table,
      Parameter("facts", StringType, Some("''"), s"$factsDoc, to build; 'none' drops all."),
      Parameter(
        "columns",
        ArrayType(StringType),
        Some("NULL"),
        "Names of the columns to hold bounds of, array('*') for all; NULL: those that were chosen before, at first all."
      )
    ),
    buildColumns
      .add("part", StringType, nullable = false)
      .add("files_read", LongType, nullable = false)
      .add("expected_bytes", LongType, nullable = false)
      .add("wrong_bounds", LongType, nullable = false)
  ) { (spark, arguments) =>
    val iceberg = indexable(spark, arguments, "build")
    val facts = arguments.text("facts").trim
    val columns = arguments.texts("columns")
    Option(iceberg.currentSnapshot()) match {
      case Some(snapshot) => built(spark, iceberg, snapshot, facts, columns)
      case None if (facts.isEmpty || facts.equalsIgnoreCase("none")) && columns.isEmpty =>
        Seq(indexRow(BuildResult.OfNoSnapshot))
      case None =>
        throw new IllegalArgumentException(
          s"Cannot build facts or choose columns of the index of '${arguments.text("table")}': the table has no " +
            "snapshot, so that nothing could hold them. Write to it first.")
    }
  }

  val Refresh: ZoneMapProcedure = ZoneMapProcedure(
    "refresh",
    "Brings the table's stored index to its current snapshot; reads only manifests the index does not know. With " +
      "upkeep.maintain-facts, new data files then get the facts that the table has.",
    Seq(table),
    buildColumns
  ) { (spark, arguments) =>
    val iceberg = indexable(spark, arguments, "refresh")
    val refreshed = Option(iceberg.currentSnapshot()).map { snapshot =>
      val refreshed = new IndexAdmin(index).refresh(iceberg, snapshot, settings(spark), runner(spark))
      process.iceberg.facts.run(iceberg, snapshot, settings(spark), runner(spark)(iceberg))
      refreshed
    }
    Seq(row(refreshed.getOrElse(BuildResult.OfNoSnapshot)))
  }

  val Status: ZoneMapProcedure = ZoneMapProcedure(
    "status",
    "Tells whether the table's current snapshot is covered, how far behind the index is, and what it costs: memory_bytes " +
      "is the hot tier, spilled_bytes local files of this JVM's segments, cold_* what is cached of a store that is not " +
      "local. Counts are -1 where the snapshot is not covered; problem says why it is not, or why its index is not stored, " +
      "and is empty where it is both. bounds counts data files by what their bounds may be used for: extremes (also for " +
      "MIN and MAX), valid (for pruning of every kind), doubtful (imported files: for the filter that Iceberg evaluates too).",
    Seq(table),
    new StructType()
      .add("snapshot_id", LongType, nullable = false)
      .add("covered", BooleanType, nullable = false)
      .add("lag_snapshots", LongType, nullable = false)
      .add("data_files", LongType, nullable = false)
      .add("delete_files", LongType, nullable = false)
      .add("segments", IntegerType, nullable = false)
      .add("bytes", LongType, nullable = false)
      .add("memory_bytes", LongType, nullable = false)
      .add("spilled_bytes", LongType, nullable = false)
      .add("cold_memory_bytes", LongType, nullable = false)
      .add("cold_disk_bytes", LongType, nullable = false)
      .add("store", StringType, nullable = false)
      .add("levels", StringType, nullable = false)
      .add("columns", StringType, nullable = false)
      .add("facts", StringType, nullable = false)
      .add("fact_bytes", LongType, nullable = false)
      .add("problem", StringType, nullable = false)
      .add("bounds", StringType, nullable = false)
  ) { (spark, arguments) =>
    val iceberg = IcebergTables.load(spark, arguments.text("table"), "tell the status of")
    val status = new IndexAdmin(index).status(iceberg, Option(iceberg.currentSnapshot()), settings(spark))
    Seq(
      Seq[Any](
        status.snapshotId,
        status.covered,
        status.lagSnapshots,
        status.dataFiles,
        status.deleteFiles,
        status.segments,
        status.bytes,
        status.memoryBytes,
        status.spilledBytes,
        status.coldMemoryBytes,
        status.coldDiskBytes,
        status.store,
        status.levels,
        status.columns,
        status.facts.map { case (fact, bytes) => s"$fact=$bytes" }.mkString(" "),
        status.facts.map(_._2).sum,
        status.problem,
        status.bounds
      ))
  }

  val Prewarm: ZoneMapProcedure = ZoneMapProcedure(
    "prewarm",
    "Reads the index of the table's current snapshot into this JVM ahead of queries: what tells of young files, so that " +
      "plans of conditions on them ask the storage for nothing. hot.max-bytes holds.",
    Seq(
      table,
      Parameter(
        "hours",
        IntegerType,
        Some("NULL"),
        "How old the commits of young files are at most; NULL: as hot.window says; 0: files of any age."),
      Parameter(
        "columns",
        ArrayType(StringType),
        Some("NULL"),
        "Names of the columns that conditions will be on; NULL or none: all that are indexed.")
    ),
    new StructType()
      .add("snapshot_id", LongType, nullable = false)
      .add("segments", IntegerType, nullable = false)
      .add("bytes", LongType, nullable = false)
      .add("seconds", DoubleType, nullable = false)
  ) { (spark, arguments) =>
    val iceberg = indexable(spark, arguments, "prewarm")
    val planner = settings(spark)
    val youngMillis = arguments.optionalCount("hours") match {
      case Some(0)     => None
      case Some(hours) => Some(hours * 3600L * 1000)
      case None        => Some(planner.maintenance.hotWindowMillis)
    }
    Option(iceberg.currentSnapshot()) match {
      case None => Seq(Seq[Any](-1L, 0, 0L, 0.0))
      case Some(snapshot) =>
        val result =
          new UpkeepPrewarm(process.iceberg).run(iceberg, snapshot, planner, youngMillis, arguments.texts("columns"))
        Seq(Seq[Any](result.snapshotId, result.segments, result.bytes, result.seconds))
    }
  }

  val Merge: ZoneMapProcedure = ZoneMapProcedure(
    "merge",
    "Brings the table's stored index to its current snapshot and merges its segments: micro ones into hours, hours of " +
      "past days into days; manifests the snapshot no longer has leave. A row a level.",
    Seq(table),
    new StructType()
      .add("level", StringType, nullable = false)
      .add("segments_before", IntegerType, nullable = false)
      .add("segments_after", IntegerType, nullable = false)
      .add("bytes_before", LongType, nullable = false)
      .add("bytes_after", LongType, nullable = false)
  ) { (spark, arguments) =>
    val iceberg = indexable(spark, arguments, "merge")
    val levels = Option(iceberg.currentSnapshot())
      .fold(LevelMerge.OfNoSnapshot)(new IndexAdmin(index).merge(iceberg, _, settings(spark), runner(spark)))
    levels.map { merged =>
      Seq[Any](merged.level, merged.segmentsBefore, merged.segmentsAfter, merged.bytesBefore, merged.bytesAfter)
    }
  }

  val Gc: ZoneMapProcedure = ZoneMapProcedure(
    "gc",
    "Lists the files of the table's stored index that no retained snapshot needs, and deletes them when dry_run is " +
      "false: versions of expired snapshots, damaged ones, and segments that no other version names.",
    Seq(
      table,
      Parameter("dry_run", BooleanType, Some("true"), "Only list the files."),
      Parameter("older_than_hours", IntegerType, Some("24"), "Younger files stay; a writer may be about to name them.")
    ),
    new StructType()
      .add("path", StringType, nullable = false)
      .add("bytes", LongType, nullable = false)
      .add("reason", StringType, nullable = false)
  ) { (spark, arguments) =>
    val iceberg = IcebergTables.load(spark, arguments.text("table"), "collect the garbage of the index of")
    val hours = arguments.count("older_than_hours")
    new IndexAdmin(index).gc(iceberg, settings(spark), hours * 3600L * 1000, arguments.flag("dry_run")).map { garbage =>
      Seq[Any](garbage.path, garbage.sizeBytes, garbage.reason)
    }
  }

  val Drop: ZoneMapProcedure = ZoneMapProcedure(
    "drop",
    "Deletes the table's stored index and forgets it in this JVM; lists the files. The table itself is not touched. " +
      "With facts, only those leave the index, and gc deletes their files with the last version that names them.",
    Seq(
      table,
      Parameter("dry_run", BooleanType, Some("false"), "Only list the files."),
      Parameter("facts", StringType, Some("''"), s"$factsDoc, to drop, or 'all'; the index stays.")
    ),
    new StructType().add("path", StringType, nullable = false)
  ) { (spark, arguments) =>
    val iceberg = IcebergTables.load(spark, arguments.text("table"), "drop the index of")
    val dryRun = arguments.flag("dry_run")
    val dropped = arguments.text("facts").trim match {
      case "" => new IndexAdmin(index).drop(iceberg, settings(spark), dryRun)
      case facts =>
        val requests = Option.when(!facts.equalsIgnoreCase("all"))(FactRequest.parse(facts, iceberg))
        new FactBuild(index).drop(iceberg, settings(spark), requests, dryRun)
    }
    dropped.map(Seq(_))
  }

  val all: Seq[ZoneMapProcedure] = Seq(Build, Refresh, Status, Prewarm, Merge, Gc, Drop)

  def find(name: String): Option[ZoneMapProcedure] = all.find(_.name() == name.toLowerCase)

  private def built(
      spark: SparkSession,
      iceberg: Table,
      snapshot: Snapshot,
      facts: String,
      columns: Seq[String]): Seq[Seq[Any]] = {
    val isNone = facts.equalsIgnoreCase("none")
    val requests = if (facts.isEmpty || isNone) Nil else FactRequest.parse(facts, iceberg)
    val built =
      if (columns.isEmpty) new IndexAdmin(index).build(iceberg, snapshot, settings(spark), runner(spark))
      else
        ColumnChange.run(index, iceberg, snapshot, settings(spark), runner(spark), ColumnChange.parse(columns, iceberg))
    if (isNone) new FactBuild(index).drop(iceberg, settings(spark), None, dryRun = false): Unit
    val results =
      if (requests.isEmpty) Nil
      else new FactBuild(index).build(iceberg, snapshot, settings(spark), requests, runner(spark)(iceberg))
    indexRow(built) +: results.map(r => factRow(snapshot, r))
  }

  private def indexable(spark: SparkSession, arguments: Arguments, verb: String): Table = {
    val name = arguments.text("table")
    val iceberg = IcebergTables.load(spark, name, s"$verb the index of")
    IcebergTables.requireIndexable(iceberg, name, s"$verb the index of")
    iceberg
  }

  private def settings(spark: SparkSession): PlannerSettings = {
    val settings = ZoneMapConf
      .read(org.apache.spark.sql.internal.SQLConf.get, org.apache.spark.sql.util.CaseInsensitiveStringMap.empty())
      .fold(throw _, _.planner)
    process.use(settings, Some(spark))
    settings
  }

  private def runner(spark: SparkSession): Table => SparkJobRunner = new SparkJobRunner(spark, _)

  private def factRow(snapshot: Snapshot, r: FactResult): Seq[Any] =
    Seq[Any](
      snapshot.snapshotId(),
      r.files.toLong,
      0L,
      r.stored,
      r.bytes,
      r.seconds,
      r.fact,
      r.built.toLong,
      r.expectedBytes,
      r.wrongBounds.toLong)

  private def indexRow(result: BuildResult): Seq[Any] = row(result) ++ Seq[Any]("index", 0L, result.bytes, 0L)

  private def row(result: BuildResult): Seq[Any] =
    Seq[Any](result.snapshotId, result.dataFiles, result.deleteFiles, result.segments, result.bytes, result.seconds)
}
